// SPDX-License-Identifier: Apache-2.0
// The list of the commands, and the command line, by CLI11, with its exceptions turned into values.
#include "noisectl/commands/commands.h"

#include <sys/un.h>

#include <algorithm>
#include <csignal>
#include <set>
#include <span>
#include <sstream>
#include <string_view>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>

#include "base/text.h"
#include "noisectl/client/answer.h"
#include "noisectl/commands/options.h"

namespace noised::client {

// In the order of --help. The file NAME.cpp has NAME_command(), which makes the command NAME.
#define NOISECTL_COMMANDS(EACH) \
  EACH(top)                     \
  EACH(report)                  \
  EACH(detours)                 \
  EACH(histogram)               \
  EACH(status)                  \
  EACH(record)                  \
  EACH(export)                  \
  EACH(import)                  \
  EACH(replay_noise)            \
  EACH(density)                 \
  EACH(project)                 \
  EACH(advise)                  \
  EACH(baseline)                \
  EACH(ftq)                     \
  EACH(fwq)                     \
  EACH(selfish)                 \
  EACH(latencytest)             \
  EACH(phases)                  \
  EACH(watch)                   \
  EACH(check)                   \
  EACH(reload)                  \
  EACH(selftest)

#define NOISECTL_DECLARE(NAME) std::unique_ptr<Command> NAME##_command();
NOISECTL_COMMANDS(NOISECTL_DECLARE)
#undef NOISECTL_DECLARE

namespace {

using Commands = std::vector<std::unique_ptr<Command>>;

// Nobody writes it but the completion of a shell (packaging/completion).
constexpr std::string_view kWords = "--words";

Commands all_commands() {
  Commands commands;
#define NOISECTL_ADD(NAME) commands.push_back(NAME##_command());
  NOISECTL_COMMANDS(NOISECTL_ADD)
#undef NOISECTL_ADD
  return commands;
}

void describe(CLI::App& app, SharedOptions& shared, const Commands& commands) {
  app.set_version_flag("--version", "noisectl " NOISED_VERSION);
  app.add_option("--socket", shared.socket, "the daemon's socket")->capture_default_str();
  app.add_option("--replay", shared.replay, "show a recording in place of what a daemon measures")
      ->check(not_empty())
      ->type_name("FILE");
  app.require_subcommand(1);
  app.fallthrough();
  for (const auto& command : commands) command->describe(*app.add_subcommand(command->name(), command->help()));
}

Status check_socket(const std::string& path) {
  if (path.empty()) return usage_error("--socket: the path is empty", "give the path of the daemon's socket");
  if (path.size() >= sizeof(sockaddr_un::sun_path))
    return usage_error("--socket: the path is longer than 107 bytes", "give a shorter one, such as a symbolic link");
  return success();
}

// Where noisectl's own arguments end: at the "--" before the program to run, whose options are not ours.
int own_arguments(int argc, const char* const* argv, const Commands& commands) {
  const auto runs_program = [&commands](std::string_view argument) {
    return std::ranges::any_of(commands, [argument](const auto& command) {
      return argument == command->name() && command->program() != nullptr;
    });
  };
  bool program = false;
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (argument == "--" && program) return i;
    if (argument == "--") break;
    program = program || runs_program(argument);
  }
  return argc;
}

Status take_program(const char* const* begin, const char* const* end, Command& command) {
  if (begin == end) return success();
  ++begin;  // the "--"
  std::vector<std::string>* const program = command.program();
  if (program == nullptr) return usage_error("--: only watch takes a command after it", "see 'noisectl --help'");
  if (begin == end || std::string_view(*begin).empty())
    return usage_error("--: no command comes after it", "give a program with its arguments, such as -- ./job -n 4");
  program->assign(begin, end);
  return success();
}

// For shells that complete: the commands and options that may come after these words, a line each.
std::string words_after(const CLI::App& app, std::span<const char* const> words) {
  const auto any = [](const CLI::App*) { return true; };
  const CLI::App* at = &app;
  for (const std::string_view word : words) {
    const auto among = at->get_subcommands(any);
    const auto found = std::ranges::find_if(among, [word](const CLI::App* each) { return each->get_name() == word; });
    if (found != among.end()) at = *found;
  }
  std::string text;
  for (const CLI::App* const command : at->get_subcommands(any)) text += command->get_name() + '\n';
  std::set<std::string> options;  // those before a command may come after it, too
  for (const CLI::App* const of : {at, &app}) {
    for (const CLI::Option* const option : of->get_options()) {
      for (const std::string& name : option->get_lnames()) options.insert("--" + name);
    }
  }
  for (const std::string& option : options) text += option + '\n';
  return text;
}

// CLI11 explains some errors over several lines; an error here is one line.
std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

}  // namespace

Result<CommandLine> parse_command_line(int argc, const char* const* argv) {
  Commands commands = all_commands();
  SharedOptions shared;
  CLI::App app("Shows who takes the CPUs away, as the daemon noised sees it.", "noisectl");
  const int own = own_arguments(argc, argv, commands);
  try {
    describe(app, shared, commands);
    if (argc > 1 && std::string_view(argv[1]) == kWords)
      return CommandLine(Answer{words_after(app, std::span(argv + 2, argv + argc))});
    app.parse(own, argv);
  } catch (const CLI::Success& asked) {
    std::ostringstream text;
    app.exit(asked, text, text);
    return CommandLine(Answer{text.str()});
  } catch (const CLI::Error& error) {
    // CLI11 asks for the command before it complains of what it took for none.
    const std::vector<std::string> unknown = app.remaining();
    if (unknown.empty()) return usage_error(first_line(error.what()), "see 'noisectl --help'");
    const auto meant = nearest(unknown.front(), words_after(app, std::span(argv + 1, argv + own)));
    return usage_error("unknown argument " + in_quotes(unknown.front()),
                       meant ? "did you mean " + in_quotes(*meant) + "?" : "see 'noisectl --help'");
  }
  // CLI11 has required that there is one.
  const auto asked = std::ranges::find_if(
      commands, [&app](const auto& command) { return app.got_subcommand(std::string(command->name())); });
  Command& command = **asked;
  command.shared() = std::move(shared);
  if (Status taken = take_program(argv + own, argv + argc, command); !taken) return taken.error();
  if (Status read = command.read(); !read) return read.error();
  if (Status read = check_socket(command.shared().socket); !read) return read.error();
  if (!command.shared().replay.empty()) {
    if (Status replayed = command.check_replay(); !replayed) return replayed.error();
  }
  return CommandLine(std::move(*asked));
}

Status run_command_line(int argc, const char* const* argv) {
  std::signal(SIGPIPE, SIG_IGN);  // a reader that goes away is an error of the write, not a death
  Result<CommandLine> parsed = parse_command_line(argc, argv);
  if (!parsed) return parsed.error();
  if (const auto* answer = std::get_if<Answer>(&parsed.value())) return print_text(answer->text);
  return std::get<std::unique_ptr<Command>>(parsed.value())->run();
}

}  // namespace noised::client
