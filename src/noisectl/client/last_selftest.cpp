// SPDX-License-Identifier: Apache-2.0
#include "noisectl/client/last_selftest.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/files.h"
#include "base/state_file.h"
#include "base/text.h"
#include "model/json_fields.h"

namespace noised::client {
namespace {

constexpr const char* kSchema = "noised.last_selftest/1";
constexpr std::size_t kLargestRecord = 4096;
constexpr const char* kRemedy = "run 'noisectl selftest' as root";

}  // namespace

std::string last_selftest_path() {
  const std::string report = last_report_path();
  return report.substr(0, report.rfind('/')) + "/last-selftest.json";
}

std::string to_json(const LastSelftest& last) {
  return dump({{"schema", kSchema},
               {"time", last.time},
               {"kernel", last.kernel},
               {"version", last.version},
               {"trials", last.trials},
               {"failed", last.failed}}) +
         "\n";
}

Result<LastSelftest> parse_last_selftest(std::string_view json) {
  const nlohmann::json parsed = nlohmann::json::parse(json, nullptr, false);
  if (!parsed.is_object() || parsed.value("schema", nlohmann::json()) != kSchema)
    return failure(std::string("not of ") + kSchema, kRemedy);
  LastSelftest last;
  for (const auto& [key, to] : {std::pair("time", &last.time), {"kernel", &last.kernel}, {"version", &last.version}}) {
    if (!parsed.contains(key) || !parsed.at(key).is_string()) return failure(std::string(key) + ": no text", kRemedy);
    *to = parsed.at(key).get<std::string>();
  }
  for (const auto& [key, to] : {std::pair("trials", &last.trials), {"failed", &last.failed}}) {
    if (!parsed.contains(key) || !parsed.at(key).is_number_unsigned())
      return failure(std::string(key) + ": no number", kRemedy);
    *to = parsed.at(key).get<std::uint64_t>();
  }
  return last;
}

// The directory is the service's, so that whoever took noised over could have left something there: no link is
// followed.
Status keep_last_selftest(const LastSelftest& last, const std::string& path) {
  if (::geteuid() != 0 || ::access(path.substr(0, path.rfind('/')).c_str(), F_OK) != 0) return success();
  const Descriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0644));
  int error = file ? 0 : errno;
  if (error == 0) error = ::fchmod(file.get(), 0644) == 0 ? write_all(file.get(), to_json(last)) : errno;
  if (error == 0) return success();
  return failure("cannot write " + path + ": " + errno_text(error), "reports will not tell of this self-test");
}

std::string last_selftest_text(const Report& report, const std::string& path) {
  const auto text = read_file(path, kLargestRecord);
  if (!text)
    return ::access(path.c_str(), F_OK) == 0 ? "the record of the last self-test cannot be read"
                                             : "no self-test is on record";
  const auto last = parse_last_selftest(text.value());
  if (!last) return "the record of the last self-test is damaged";
  const LastSelftest& of = last.value();
  const std::string other = of.kernel != report.kernel     ? ", with another kernel"
                            : of.version != NOISED_VERSION ? ", with another noised"
                                                           : "";
  const std::string day = printable(of.time.substr(0, of.time.find('T')));
  if (of.trials == 0) return fmt::format("the self-test of {} could test nothing{}", day, other);
  if (of.failed == 0) return fmt::format("self-test passed {} ({} trials{})", day, of.trials, other);
  return fmt::format("self-test FAILED {} ({} of {} trials{})", day, of.failed, of.trials, other);
}

}  // namespace noised::client
