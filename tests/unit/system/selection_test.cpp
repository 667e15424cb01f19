// SPDX-License-Identifier: Apache-2.0
// What a user may write to select tasks, and what comes of it.
#include <catch2/catch_test_macros.hpp>
#include <optional>
#include <string>

#include "system/task_selection.h"

using namespace noised;
using namespace noised::system;

namespace {

Error refusal(std::optional<std::string_view> pids, std::optional<std::string_view> comm,
              std::optional<std::string_view> cgroup) {
  const auto made = make_selection(pids, comm, cgroup);
  REQUIRE_FALSE(made);
  CHECK(made.error().code == ExitCode::usage);
  CHECK_FALSE(made.error().remedy.empty());
  return made.error();
}

std::string cgroup(std::string_view path) { return make_selection({}, {}, path).value().text; }

}  // namespace

TEST_CASE("a selection says what it is", "[selection]") {
  CHECK(describe(make_selection({}, {}, {}).value()) == "all");
  CHECK(describe(make_selection("12", {}, {}).value()) == "pid 12");
  CHECK(describe(make_selection("13,12,13", {}, {}).value()) == "pid 13, 12");
  CHECK(describe(make_selection({}, "lmp", {}).value()) == "comm lmp");
  CHECK(describe(make_selection({}, "two\nlines", {}).value()) == "comm two?lines");
  CHECK(describe(make_selection({}, {}, "/slurm/uid_0/job_7").value()) == "cgroup /slurm/uid_0/job_7");
}

TEST_CASE("pids are numbers of processes", "[selection]") {
  CHECK(make_selection("4294967295", {}, {}).value().pids == std::vector<std::uint32_t>{4294967295U});
  CHECK(refusal("", {}, {}).what == "pid '': not the number of a process");
  CHECK(refusal("0", {}, {}).what == "pid '0': not the number of a process");
  CHECK(refusal("-1", {}, {}).what == "pid '-1': not the number of a process");
  CHECK(refusal("12,", {}, {}).what == "pid '': not the number of a process");
  CHECK(refusal("12, 13", {}, {}).what == "pid ' 13': not the number of a process");
  CHECK(refusal("12x", {}, {}).what == "pid '12x': not the number of a process");
  CHECK(refusal("4294967296", {}, {}).what == "pid '4294967296': not the number of a process");
}

TEST_CASE("a name has no more bytes than the kernel keeps", "[selection]") {
  CHECK(make_selection({}, "fifteen bytes..", {}).value().text == "fifteen bytes..");
  CHECK(refusal({}, "sixteen bytes...", {}).line() ==
        "comm 'sixteen bytes...': the kernel keeps 15 bytes of a name: write its beginning, 'sixteen bytes..'");
  CHECK(refusal({}, "", {}).what == "comm is empty");
}

TEST_CASE("a cgroup is an absolute path", "[selection]") {
  CHECK(cgroup("/") == "/");
  CHECK(cgroup("//") == "/");
  CHECK(cgroup("/a/b/") == "/a/b");
  CHECK(cgroup("//a/./b//") == "/a/b");
  CHECK(cgroup("/system.slice/dev-disk\\x2d1..mount/...") == "/system.slice/dev-disk\\x2d1..mount/...");
  CHECK(refusal({}, {}, "").what == "cgroup '': not an absolute path without '..'");
  CHECK(refusal({}, {}, "system.slice").what == "cgroup 'system.slice': not an absolute path without '..'");
  CHECK(refusal({}, {}, "/a/../b").what == "cgroup '/a/../b': not an absolute path without '..'");
  CHECK(refusal({}, {}, std::string_view("/a\0b", 4)).what == "cgroup '/a?b': not an absolute path without '..'");
}

TEST_CASE("tasks are selected in one way", "[selection]") {
  CHECK(refusal("1", "lmp", {}).remedy == "give one of them");
  CHECK(refusal("1", {}, "/a").remedy == "give one of them");
  CHECK(refusal({}, "lmp", "/a").remedy == "give one of them");
}

TEST_CASE("a path is within those above it", "[selection]") {
  CHECK(is_within("/a", "/a"));
  CHECK(is_within("/a/b", "/a"));
  CHECK(is_within("/a", "/"));
  CHECK(is_within("/", "/"));
  CHECK_FALSE(is_within("/ab", "/a"));  // job_42 is not in job_4
  CHECK_FALSE(is_within("/a", "/a/b"));
  CHECK_FALSE(is_within("", "/"));
}
