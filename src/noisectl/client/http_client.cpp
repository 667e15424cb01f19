// SPDX-License-Identifier: Apache-2.0
// libcurl behind values: every way a request can fail becomes one line with a remedy.
#include "noisectl/client/http_client.h"
#include "base/text.h"

#include <cerrno>
#include <cstring>

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "noisectl/client/line_splitter.h"
#include "views/text.h"

namespace noised::client {

/// One request under way. Only an answer of status 200 reaches `on_piece`; any other is kept as the error's text.
struct HttpClient::Transfer {
  CURL* easy;
  std::function<bool(std::string_view)> on_piece;
  std::string refusal;

  [[nodiscard]] long status() const {
    long code = 0;
    curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &code);
    return code;
  }

  static std::size_t receive(char* data, std::size_t size, std::size_t count, void* self) {
    auto* transfer = static_cast<Transfer*>(self);
    const std::string_view piece(data, size * count);
    if (transfer->status() == 200) return transfer->on_piece(piece) ? piece.size() : 0;
    // Enough for the first line of any refusal.
    if (transfer->refusal.size() < 4096) transfer->refusal.append(piece);
    return piece.size();
  }
};

Result<HttpClient> HttpClient::create(std::string socket_path) {
  Easy easy(curl_easy_init());
  Multi multi(curl_multi_init());
  if (!easy || !multi) return failure("libcurl could not start", "is memory short?");
  return HttpClient(std::move(socket_path), std::move(easy), std::move(multi));
}

void HttpClient::prepare(const std::string& path, std::chrono::milliseconds timeout, bool posted, Transfer& transfer) {
  CURL* easy = easy_.get();
  curl_easy_reset(easy);
  curl_easy_setopt(easy, CURLOPT_URL, ("http://localhost" + path).c_str());
  curl_easy_setopt(easy, CURLOPT_UNIX_SOCKET_PATH, socket_path_.c_str());
  curl_easy_setopt(easy, CURLOPT_PROXY, "");  // http_proxy of the environment is not for a local socket
  curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, 5000L);
  curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, static_cast<long>(timeout.count()));
  curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, &Transfer::receive);
  curl_easy_setopt(easy, CURLOPT_WRITEDATA, &transfer);
  if (!posted) return;
  curl_easy_setopt(easy, CURLOPT_POST, 1L);
  curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE, 0L);
}

Error HttpClient::error_of(CURLcode code) const {
  long number = 0;
  curl_easy_getinfo(easy_.get(), CURLINFO_OS_ERRNO, &number);
  const std::string where = "daemon at " + socket_path_;
  if (code == CURLE_COULDNT_CONNECT) {
    if (found_nobody())
      return failure("no " + where, "start one with 'noised --cpus LIST --socket " + socket_path_ + "'");
    if (number == EACCES || number == EPERM)
      return failure(where + ": permission denied", "run as root, or join the socket's group");
    return failure(where + ": cannot connect: " + std::strerror(static_cast<int>(number)));
  }
  if (code == CURLE_OPERATION_TIMEDOUT)
    return failure(where + " did not answer in time", "see its log; is its housekeeping CPU overloaded?");
  if (code == CURLE_PARTIAL_FILE || code == CURLE_RECV_ERROR || code == CURLE_GOT_NOTHING || code == CURLE_SEND_ERROR)
    return failure(where + " went away", "see its log for the reason");
  return failure(where + ": " + curl_easy_strerror(code), "is this the socket of noised?");
}

Error HttpClient::refused(const std::string& path, long status, const std::string& body) const {
  // A refusal in the daemon's own words has its remedy in it, but for the one that the client knows.
  const auto told = nlohmann::json::parse(body, nullptr, false);
  const bool own_words = told.is_object() && told.contains("error") && told["error"].is_string();
  const std::string reason = printable(own_words ? told["error"].get<std::string>() : body.substr(0, body.find('\n')));
  if (own_words && (status == 400 || status == 403 || status == 409 || status == 423))
    return failure("daemon at " + socket_path_ + ": " + reason, status == 403 ? "run as root" : "");
  return failure(fmt::format("daemon at {} answered {} to {}{}", socket_path_, status, path,
                             reason.empty() ? "" : " (" + reason + ")"),
                 "are noised and noisectl of the same version?");
}

bool HttpClient::found_nobody() const {
  long number = 0;
  curl_easy_getinfo(easy_.get(), CURLINFO_OS_ERRNO, &number);
  return number == ENOENT || number == ECONNREFUSED || number == ENOTDIR;
}

long HttpClient::status() const {
  long code = 0;
  curl_easy_getinfo(easy_.get(), CURLINFO_RESPONSE_CODE, &code);
  return code;
}

Result<std::string> HttpClient::get(const std::string& path, std::chrono::milliseconds timeout) {
  return whole_answer(path, timeout, false);
}

Result<std::string> HttpClient::post(const std::string& path, std::chrono::milliseconds timeout) {
  return whole_answer(path, timeout, true);
}

Result<std::string> HttpClient::whole_answer(const std::string& path, std::chrono::milliseconds timeout, bool posted) {
  std::string body;
  Transfer transfer{easy_.get(),
                    [&body](std::string_view piece) {
                      body.append(piece);
                      return true;
                    },
                    {}};
  prepare(path, timeout, posted, transfer);
  const CURLcode code = curl_easy_perform(easy_.get());
  if (code != CURLE_OK) return error_of(code);
  if (transfer.status() != 200) return refused(path, transfer.status(), transfer.refusal);
  return body;
}

namespace {

/// Puts a transfer under the multi handle for as long as this lives.
class Attached {
 public:
  Attached(CURLM* multi, CURL* easy) : multi_(multi), easy_(easy) { curl_multi_add_handle(multi_, easy_); }
  ~Attached() { curl_multi_remove_handle(multi_, easy_); }
  Attached(const Attached&) = delete;
  Attached& operator=(const Attached&) = delete;

 private:
  CURLM* multi_;
  CURL* easy_;
};

CURLcode result_of(CURLM* multi) {
  int left = 0;
  const CURLMsg* message = curl_multi_info_read(multi, &left);
  return message == nullptr ? CURLE_RECV_ERROR : message->data.result;
}

}  // namespace

Result<StreamEnd> HttpClient::stream(const std::string& path, std::chrono::milliseconds timeout, int stop_fd,
                                     const OnLine& on_line) {
  LineSplitter lines;
  Result<StreamEnd> end =
      stream_bytes(path, timeout, stop_fd, [&](std::string_view piece) { return lines.feed(piece, on_line); });
  if (!end || end.value() == StreamEnd::stopped) return end;
  if (!lines.rest().empty() && !on_line(lines.rest())) return StreamEnd::stopped;
  return StreamEnd::finished;
}

Result<StreamEnd> HttpClient::stream_bytes(const std::string& path, std::chrono::milliseconds timeout, int stop_fd,
                                           const OnBytes& on_bytes, bool posted) {
  bool reader_done = false;
  Transfer transfer{easy_.get(),
                    [&](std::string_view piece) {
                      reader_done = !on_bytes(piece);
                      return !reader_done;
                    },
                    {}};
  prepare(path, timeout, posted, transfer);
  const Attached attached(multi_.get(), easy_.get());
  for (;;) {
    int running = 0;
    if (curl_multi_perform(multi_.get(), &running) != CURLM_OK) return failure("libcurl: the transfer cannot go on");
    if (reader_done) return StreamEnd::stopped;
    if (running == 0) break;
    curl_waitfd stop{};
    stop.fd = stop_fd;
    stop.events = CURL_WAIT_POLLIN;
    // libcurl shortens the wait for timers of its own; there is nothing else to wake up for.
    if (curl_multi_poll(multi_.get(), &stop, stop_fd < 0 ? 0 : 1, 60'000, nullptr) != CURLM_OK)
      return failure("libcurl: waiting for the daemon failed");
    if (stop.revents != 0) return StreamEnd::stopped;
  }
  if (const CURLcode code = result_of(multi_.get()); code != CURLE_OK) return error_of(code);
  if (transfer.status() != 200) return refused(path, transfer.status(), transfer.refusal);
  return StreamEnd::finished;
}

}  // namespace noised::client
