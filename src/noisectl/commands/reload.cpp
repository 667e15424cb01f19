// SPDX-License-Identifier: Apache-2.0
// noisectl reload: the daemon reads its configuration again.
#include <nlohmann/json.hpp>

#include "noisectl/client/answer.h"
#include "noisectl/commands/options.h"

namespace noised::client {
namespace {

struct ReloadOptions : SharedOptions {
  bool json = false;
};

class ReloadCommand final : public CommandOf<ReloadOptions> {
 public:
  ReloadCommand() : CommandOf("reload", "the daemon reads its configuration again (root only)") {}

  void describe(CLI::App& sub) override { add_json(sub, options.json); }
  [[nodiscard]] Status check_replay() const override { return needs_daemon(); }
  Status run() override {
    Result<HttpClient> client = HttpClient::create(options.socket);
    if (!client) return client.error();
    const Result<std::string> body = client.value().post("/v1/reload", kAnswerTime);
    if (!body) return body.error();
    if (options.json) return print_text(body.value());
    const auto answer = nlohmann::json::parse(body.value(), nullptr, false);
    const bool told = answer.is_object() && answer.contains("next_start") && answer["next_start"].is_string();
    const std::string waiting = told ? answer["next_start"].get<std::string>() : "";
    return print_text(waiting.empty() ? "reloaded"
                                      : "reloaded; these settings take effect at the next start only: " + waiting);
  }
};

}  // namespace

std::unique_ptr<Command> reload_command() { return std::make_unique<ReloadCommand>(); }

}  // namespace noised::client
