// SPDX-License-Identifier: Apache-2.0
// noisectl import: detours that another tool saw, as a recording, which every command shows.
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include <fmt/format.h>

#include "base/cpus.h"
#include "base/files.h"
#include "base/units.h"
#include "import/list_recording.h"
#include "model/json_fields.h"
#include "noisectl/client/output.h"
#include "noisectl/commands/options.h"
#include "recording/recording_file.h"
#include "views/text.h"

namespace noised::client {
namespace {

// Ten million detours, each of which takes 40 bytes, and as much while they are sorted.
constexpr std::size_t kLongestList = std::size_t{1} << 30U;

struct ImportOptions : SharedOptions {
  std::string input;
  std::string output;
  imports::Observed observed;
  bool json = false;
};

Status read_instant(const char* option, const std::string& text, std::optional<std::uint64_t>& to) {
  if (text.empty()) return success();
  const Result<std::uint64_t> read = parse_time(text);
  if (!read) return usage_error(std::string(option) + ": " + read.error().what, read.error().remedy);
  to = read.value();
  return success();
}

Status run_import(const ImportOptions& options) {
  const auto text = read_file(options.input, kLongestList);
  if (!text) return text.error();
  const auto list = imports::read_detour_list(text.value(), options.input);
  if (!list) return list.error();
  auto file = recording::create_recording(options.output);
  if (!file) return file.error();
  if (Status written = imports::write_recording(list.value(), options.observed, options.input, file.value());
      !written) {
    // What is no file of ours is not removed.
    if (std::filesystem::is_regular_file(options.output)) (void)::unlink(options.output.c_str());
    return written;
  }
  Output output(stdout);
  if (options.json) {
    output.write(dump({{"schema", "noised.imported/1"},
                       {"output", options.output},
                       {"detours", list.value().detours.size()},
                       {"sources", list.value().sources.size()}}) +
                 "\n");
  } else {
    output.write(fmt::format("{}: {} detours of {} sources\n", options.output, list.value().detours.size(),
                             list.value().sources.size()));
  }
  return output.finish();
}

class ImportCommand final : public CommandOf<ImportOptions> {
 public:
  ImportCommand() : CommandOf("import", "detours that another tool saw, as a recording") {}

  void describe(CLI::App& sub) override {
    sub.add_option("FILE", options.input, "CSV with start_ns, duration_ns, cpu and source, or what selfish printed")
        ->required()
        ->check(not_empty());
    sub.add_option("-o,--output", options.output, "the recording to create")
        ->required()
        ->check(not_empty())
        ->type_name("RECORDING");
    sub.add_option("--from", from_, "when observation began, on the clock of FILE; else with the first detour")
        ->type_name("TIME");
    sub.add_option("--until", until_, "when it ended; else with the last detour")->type_name("TIME");
    sub.add_option("--cpus", cpus_, "the CPUs that were observed; else those with a detour")->type_name("LIST");
    add_json(sub, options.json);
  }
  Status read() override {
    if (!cpus_.empty()) {
      auto cpus = parse_cpu_list(cpus_);
      if (!cpus) return usage_error("--cpus: " + cpus.error().what, cpus.error().remedy);
      options.observed.cpus = std::move(cpus).value();
    }
    if (Status read = read_instant("--from", from_, options.observed.from_ns); !read) return read;
    return read_instant("--until", until_, options.observed.until_ns);
  }
  [[nodiscard]] Status check_replay() const override {
    return usage_error("import: it shows no recording, but makes one", "leave out --replay");
  }
  Status run() override { return run_import(options); }

 private:
  std::string from_;
  std::string until_;
  std::string cpus_;
};

}  // namespace

std::unique_ptr<Command> import_command() { return std::make_unique<ImportCommand>(); }

}  // namespace noised::client
