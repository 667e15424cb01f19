// SPDX-License-Identifier: Apache-2.0
#include "noisectl/commands/check.h"

#include <unistd.h>

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/files.h"
#include "noisectl/client/answer.h"
#include "noisectl/client/measured.h"
#include "noisectl/commands/options.h"
#include "views/check.h"
#include "views/views.h"

namespace noised::client {
namespace {

// The report that is judged. Of what is recorded for it, or was, everything; of a running daemon the last minute.
Result<Report> judged_report(const CheckOptions& options) {
  if (options.replay.empty() && !options.duration_ns) {
    Result<HttpClient> client = HttpClient::create(options.socket);
    if (!client) return client.error();
    const Result<std::string> body = client.value().get("/v1/recent", kAnswerTime);
    if (!body) return body.error();
    return views::parse_report(body.value());
  }
  const auto measured = Measured::get(options);
  if (!measured) return measured.error();
  auto player = measured.value().play();
  if (!player) return player.error();
  play_all(player.value());
  if (Status whole = Measured::whole(player.value()); !whole) return whole.error();
  return player.value().recent();
}

// A limit of tasks by name says nothing where names are hidden; of all tasks it does.
bool hides_limited(const Report& report, const analysis::NoiseLimits& limits) {
  const auto is_named = [](const analysis::SourceLimit& limit) {
    return limit.pattern.starts_with("task:") && !limit.pattern.starts_with("task:*");
  };
  return std::ranges::any_of(limits.sources, is_named) && std::ranges::any_of(report.sources, [](const auto& source) {
           return source.kind == "task" && source.name.starts_with("hidden-");
         });
}

class CheckCommand final : public CommandOf<CheckOptions> {
 public:
  CheckCommand() : CommandOf("check", "whether the CPUs are quiet enough: exit code 0; 3: noisy; 4: not seen") {
    options.needs_loop = false;
  }

  void describe(CLI::App& sub) override {
    for (Limit& limit : limits_) {
      CLI::Option* const option =
          sub.add_option(limit.flag, limit.texts, limit.help)->check(not_empty())->type_name(limit.type);
      if (limit.key == LimitKey::source) {
        option->allow_extra_args(false);
      } else {
        option->expected(1);
      }
    }
    sub.add_option("--limits", file_, "read limits from a file, in TOML; those of options go before them")
        ->check(not_empty())
        ->type_name("FILE");
    sub.add_option("--for", for_, "measure so long; without it, the daemon's last minute is judged")
        ->check(not_empty())
        ->type_name("TIME");
    add_json(sub, options.json);
  }
  Status read() override {
    if (!file_.empty()) {
      const auto text = read_file(file_);
      if (!text) return usage_error(text.error().what, "name a readable file with --limits");
      auto limits = parse_limits(text.value(), file_);
      if (!limits) return limits.error();
      options.limits = std::move(limits).value();
    }
    if (!limits_[kSource].texts.empty()) options.limits.sources.clear();
    for (const Limit& limit : limits_) {
      for (const std::string& text : limit.texts) {
        const Status read = read_limit(limit.key, text, options.limits);
        if (!read) return usage_error(fmt::format("{}: {}", limit.flag, read.error().what), read.error().remedy);
      }
    }
    if (!options.limits.any())
      return usage_error("check: there is no limit", "give --max-detour, --max-share, --source or --limits");
    if (for_.empty()) return success();
    std::uint64_t duration_ns = 0;
    if (Status read = read_time("--for", for_, duration_ns); !read) return read;
    if (duration_ns == 0) return usage_error("--for 0 measures nothing", "give a time such as 30s");
    options.duration_ns = duration_ns;
    return success();
  }
  [[nodiscard]] Status check_replay() const override {
    if (for_.empty()) return success();
    return usage_error("--for: a recording is judged as a whole", "leave it out");
  }
  Status run() override { return run_check(options); }

 private:
  struct Limit {
    LimitKey key;
    const char* flag;
    const char* type;
    const char* help;
    std::vector<std::string> texts;
  };
  static constexpr std::size_t kSource = 2;

  std::vector<Limit> limits_{
      {LimitKey::max_detour, "--max-detour", "TIME", "the longest that a detour may be", {}},
      {LimitKey::max_share, "--max-share", "PERCENT", "the most of a CPU's time that may be lost", {}},
      {LimitKey::source, "--source", "KIND:NAME=LIMIT", "of these sources, the longest or the share that may be", {}},
      {LimitKey::cpus,
       "--cpus",
       "LIST",
       "the CPUs to judge, each of which must be measured (those with a loop; without, all)",
       {}}};
  std::string file_;
  std::string for_;
};

}  // namespace

Status run_check(const CheckOptions& options) {
  const auto report = judged_report(options);
  if (!report) return report.error();
  if (::geteuid() != 0 && hides_limited(report.value(), options.limits))
    return Error{"check: names of others' tasks are hidden from you, and a limit names some",
                 "run as root, or set service.socket_names = \"all\"", ExitCode::blind};
  const CheckView view = analysis::check_noise(report.value(), options.limits);
  if (Status printed = print_text(options.json ? views::to_json(view) : views::to_text(view)); !printed) return printed;
  if (view.verdict == "good") return success();
  return Error{"", "", view.verdict == "noisy" ? ExitCode::noisy : ExitCode::blind};
}

std::unique_ptr<Command> check_command() { return std::make_unique<CheckCommand>(); }

}  // namespace noised::client
