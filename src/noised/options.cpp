// SPDX-License-Identifier: Apache-2.0
// Flags are collected as text first: which file they override is only known once all of them are read.
#include "noised/options.h"

#include <unistd.h>

#include <array>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>

#include "base/text.h"
#include "base/units.h"
#include "noised/http/unix_socket.h"
#include "noised/settings.h"

namespace noised::daemon {
namespace {

// A flag that overrides a key.
struct Override {
  const char* flag;
  const char* section;
  const char* key;
  const char* type;
  const char* help;
};
constexpr std::array kOverrides = {
    Override{"--cpus", "probe", "cpus", "LIST", "CPUs to watch: a list such as 1-3,5, or isolated, nohz_full or all"},
    Override{"--mode", "probe", "mode", "probe|watch|auto",
             "a loop on each CPU, or what the tasks there suffer, or both"},
    Override{"--quiet-time", "probe", "quiet_time", "TIME", "mode auto: without a task, until a loop comes back"},
    Override{"--watched-cpus", "probe", "watched_cpus", "LIST",
             "mode auto: CPUs to watch besides those with a loop: a list, all or none"},
    Override{"--threshold", "probe", "threshold", "TIME", "a longer gap is a detour, such as 200ns"},
    Override{"--policy", "probe", "policy", "other|fifo", "scheduling policy of the measuring threads"},
    Override{"--priority", "probe", "priority", "N", "their priority with fifo, 1 to 99"},
    Override{"--duty-cycle", "probe", "duty_cycle", "PERCENT", "the loop runs in this share of the time, such as 25%"},
    Override{"--quantum", "probe", "quantum", "TIME",
             "count the loop's work in quanta of this time, such as 1ms (FTQ)"},
    Override{"--work", "probe", "work", "N", "take the time of each N iterations of the loop (FWQ)"},
    Override{"--grain", "probe", "grain", "TIME", "run phases of fixed work this long, such as 1ms (noisectl phases)"},
    Override{"--footprint", "probe", "footprint", "0|L1|L2|SIZE", "memory that phases walk through, such as L1"},
    Override{"--socket", "service", "socket", "PATH", "Unix socket that noisectl talks to"},
    Override{"--web.listen-address", "service", "listen", "HOST:PORT",
             "where Prometheus scrapes, such as 127.0.0.1:10077; \"\": nowhere"},
    Override{"--log-level", "log", "level", "L", "debug, info, warning or error"},
};

// The command line as written.
struct Written {
  std::optional<std::string> config;
  bool check_config = false;
  bool version = false;
  std::array<std::optional<std::string>, kOverrides.size()> overrides;
  bool force_ringbuf = false;
  std::optional<std::string> btf;
  std::optional<std::string> duration;
  std::optional<std::string> report;
  std::optional<std::string> record;
  std::optional<std::string> replay;
};

void declare(CLI::App& app, Written& written) {
  app.set_help_flag("-h,--help", "print this and exit");
  app.add_option("--config", written.config, "configuration file (default: /etc/noised/noised.conf if it exists)")
      ->type_name("FILE");
  app.add_flag("--check-config", written.check_config, "check the configuration and exit");
  for (std::size_t i = 0; i < kOverrides.size(); ++i) {
    app.add_option(kOverrides[i].flag, written.overrides[i], kOverrides[i].help)->type_name(kOverrides[i].type);
  }
  app.add_option("--btf", written.btf, "BTF of the running kernel (default: the kernel's own)")->type_name("FILE");
  app.add_flag("--force-ringbuf", written.force_ringbuf,
               "run on a PREEMPT_RT kernel whose ring buffers may be unsafe (CVE-2024-50138)");
  app.add_option("--duration", written.duration, "measure for this long, then exit, such as 10s")->type_name("TIME");
  app.add_option("--replay", written.replay, "print the report of a recording, and exit")->type_name("FILE");
  app.add_option("--report", written.report, "with --duration or --replay: print the report on standard output")
      ->type_name("text|json");
  app.add_option("--record", written.record, "with --duration: record all of it to a new file")->type_name("FILE");
  app.add_flag("--version", written.version, "print the version and exit");
  app.footer(
      "Example: what stole time from CPU 1 within ten seconds?\n"
      "  noised --cpus 1 --duration 10s --report text\n");
}

Status read_file_settings(const Written& written, const std::string& default_config, Options& options) {
  if (written.config) {
    options.config_file = *written.config;
  } else if (::access(default_config.c_str(), F_OK) == 0) {
    options.config_file = default_config;
  } else {
    return success();
  }
  auto config = read_config(options.config_file);
  if (!config) return config.error();
  options.config = std::move(config).value();
  return success();
}

Status apply_overrides(const Written& written, Config& config) {
  for (std::size_t i = 0; i < kOverrides.size(); ++i) {
    if (!written.overrides[i]) continue;
    const Setting* const setting = find_setting(kOverrides[i].section, kOverrides[i].key);
    assert(setting != nullptr);
    if (auto applied = setting->apply(config, *written.overrides[i]); !applied) {
      return usage_error(std::string(kOverrides[i].flag) + ": " + applied.error().what, applied.error().remedy);
    }
  }
  return success();
}

Status apply_replay(const Written& written, Options& options) {
  if (!written.replay) return success();
  if (written.replay->empty()) return usage_error("--replay: the path is empty", "give a recording");
  if (written.duration || written.record) {
    return usage_error("--replay: nothing is measured while a recording is shown", "leave out --duration and --record");
  }
  options.replay = *written.replay;
  return success();
}

Status apply_run(const Written& written, Options& options) {
  if (Status applied = apply_replay(written, options); !applied) return applied;
  if (written.duration) {
    const auto duration = parse_time(*written.duration);
    if (!duration) return usage_error("--duration: " + duration.error().what, duration.error().remedy);
    if (duration.value() == 0)
      return usage_error("--duration: measuring for no time shows nothing", "write such as 10s");
    options.duration_ns = duration.value();
  }
  if (written.report) {
    if (*written.report != "text" && *written.report != "json") {
      return usage_error("--report: unknown format " + in_quotes(*written.report), "write text or json");
    }
    if (!options.duration_ns && options.replay.empty()) {
      return usage_error("--report: needs --duration", "say how long to measure, such as --duration 10s");
    }
    options.report = *written.report == "json" ? ReportFormat::json : ReportFormat::text;
  }
  if (written.record) {
    if (written.record->empty()) return usage_error("--record: the path is empty", "give the file to create");
    if (!options.duration_ns) {
      return usage_error("--record: needs --duration", "or record a running daemon with noisectl record");
    }
    if (options.config.mode == Mode::turns) {
      return usage_error("--record: a recording is of loops or of watched tasks, and in mode auto they take turns",
                         "choose mode probe or watch");
    }
    options.record = *written.record;
  }
  options.btf = written.btf;
  options.force_ringbuf = written.force_ringbuf;
  return success();
}

bool is_given(const Written& written, std::string_view flag) {
  for (std::size_t i = 0; i < kOverrides.size(); ++i) {
    if (kOverrides[i].flag == flag) return written.overrides[i].has_value();
  }
  return false;
}

Result<Options> resolve(const Written& written, const std::string& default_config) {
  Options options;
  // A recording is shown anywhere, to anybody: what this machine would measure does not matter.
  if (!written.replay || written.config) {
    if (auto read = read_file_settings(written, default_config, options); !read) return read.error();
  }
  if (auto applied = apply_overrides(written, options.config); !applied) return applied.error();
  if (auto good = check_together(options.config); !good) return good.error();
  if (auto applied = apply_run(written, options); !applied) return applied.error();
  options.names_cpus =
      is_given(written, "--cpus") || (is_given(written, "--mode") && options.config.mode != Mode::turns);
  // Nobody scrapes a measurement that ends, and several may run side by side.
  if (options.duration_ns && !is_given(written, "--web.listen-address")) options.config.listen.clear();
  if (written.check_config) {
    if (auto exists = check_socket_group(options.config.socket_group); !exists) return exists.error();
    options.output = options.config_file.empty() ? "no " + default_config + ", built-in defaults: good\n"
                                                 : options.config_file + ": good\n";
  }
  return options;
}

// An error quotes what was written, and is one line.
Status check_printable(int argc, const char* const* argv) {
  for (int i = 1; i < argc; ++i) {
    for (const char* c = argv[i]; *c != '\0'; ++c) {
      if (static_cast<unsigned char>(*c) >= 0x20 && *c != 0x7f) continue;
      return usage_error("argument " + in_quotes(argv[i]) + " has a control character", "leave it out");
    }
  }
  return success();
}

// For shells that complete (packaging/completion): all options, a line each.
constexpr std::string_view kWords = "--words";

std::string words_of(const CLI::App& app) {
  std::string text;
  for (const CLI::Option* const option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) text += "--" + name + '\n';
  }
  return text;
}

Options print_only(std::string text) {
  Options options;
  options.output = std::move(text);
  return options;
}

}  // namespace

Result<Options> parse_options(int argc, const char* const* argv, const std::string& default_config) {
  if (auto printable = check_printable(argc, argv); !printable) return printable.error();
  CLI::App app("noised watches CPUs and names what takes time away from them.", "noised");
  Written written;
  try {
    declare(app, written);
    if (argc > 1 && std::string_view(argv[1]) == kWords) return print_only(words_of(app));
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    return print_only(app.help());
  } catch (const CLI::ExtrasError&) {
    const std::vector<std::string> unknown = app.remaining();
    const std::string word = unknown.empty() ? "" : unknown.front();
    const auto meant = nearest(word, words_of(app));
    return usage_error("unknown argument " + in_quotes(word),
                       meant ? "did you mean " + in_quotes(*meant) + "?" : "noised --help lists what can be given");
  } catch (const CLI::Error& error) {
    return usage_error(error.what(), "noised --help lists what can be given");
  }
  if (written.version) return print_only("noised " NOISED_VERSION "\n");
  auto options = resolve(written, default_config);
  if (options) options.value().arguments.assign(argv + 1, argv + argc);
  return options;
}

Result<Options> Options::read_again() const {
  std::vector<const char*> again = {"noised"};
  for (const std::string& argument : arguments) again.push_back(argument.c_str());
  return parse_options(static_cast<int>(again.size()), again.data(), config_file);
}

}  // namespace noised::daemon
