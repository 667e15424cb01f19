// SPDX-License-Identifier: Apache-2.0
// Requests over the daemon's Unix socket.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include <curl/curl.h>

#include "base/result.h"

namespace noised::client {

/// The daemon answers from a snapshot: what takes this long will not come.
inline constexpr std::chrono::seconds kAnswerTime{10};

/// How a stream came to its end.
enum class StreamEnd {
  finished,  ///< the daemon ended it
  stopped,   ///< the reader, or a signal, ended it
};

class HttpClient {
 public:
  /// Takes a line without its newline; false ends the stream.
  using OnLine = std::function<bool(std::string_view)>;

  /// A client of the daemon at this socket; connects with the first request.
  static Result<HttpClient> create(std::string socket_path);

  /// The whole answer to `path` ("/v1/report"), within `timeout`.
  Result<std::string> get(const std::string& path, std::chrono::milliseconds timeout);

  /// The same for a POST without a body.
  Result<std::string> post(const std::string& path, std::chrono::milliseconds timeout);

  /// Takes some bytes; false ends the stream.
  using OnBytes = std::function<bool(std::string_view)>;

  /// Gives the bytes of the answer to `on_bytes` as they arrive, until either side ends it, `stop_fd` is readable, or
  /// `timeout` is over (an error; zero is no timeout). `posted`: by a POST without a body.
  Result<StreamEnd> stream_bytes(const std::string& path, std::chrono::milliseconds timeout, int stop_fd,
                                 const OnBytes& on_bytes, bool posted = false);

  /// HTTP's status of the last answer; 0 if none came.
  [[nodiscard]] long status() const;

  /// Of a request that failed: nobody listens at the socket.
  [[nodiscard]] bool found_nobody() const;

  /// The same with each line of the answer.
  Result<StreamEnd> stream(const std::string& path, std::chrono::milliseconds timeout, int stop_fd,
                           const OnLine& on_line);

 private:
  struct EasyDeleter {
    void operator()(CURL* handle) const { curl_easy_cleanup(handle); }
  };
  struct MultiDeleter {
    void operator()(CURLM* handle) const { curl_multi_cleanup(handle); }
  };
  using Easy = std::unique_ptr<CURL, EasyDeleter>;
  using Multi = std::unique_ptr<CURLM, MultiDeleter>;
  struct Transfer;

  HttpClient(std::string socket_path, Easy easy, Multi multi)
      : socket_path_(std::move(socket_path)), easy_(std::move(easy)), multi_(std::move(multi)) {}

  Result<std::string> whole_answer(const std::string& path, std::chrono::milliseconds timeout, bool posted);
  void prepare(const std::string& path, std::chrono::milliseconds timeout, bool posted, Transfer& transfer);
  [[nodiscard]] Error error_of(CURLcode code) const;
  [[nodiscard]] Error refused(const std::string& path, long status, const std::string& body) const;

  std::string socket_path_;
  Easy easy_;
  Multi multi_;
};

}  // namespace noised::client
