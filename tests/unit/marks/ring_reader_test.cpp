// SPDX-License-Identifier: Apache-2.0
// Rings of marks: read beside their writer, overwritten, broken; and files as noised/mark.h writes them.
#include <noised/mark.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <array>
#include <atomic>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <catch2/catch_test_macros.hpp>

#include "marks/mark_directory.h"
#include "marks/ring_reader.h"
#include "unit/base/temporary_directory.h"

using namespace noised;
using namespace noised::marks;

namespace {

// A file of marks in memory, written by the header's own function.
class File {
 public:
  File() : words_(NOISED_MARK_FILE_SIZE / sizeof(std::uint64_t)) {
    header().magic = NOISED_MARK_MAGIC;
    header().version = NOISED_MARK_VERSION;
    header().pid = 7;
    header().tid = 8;
    header().capacity = NOISED_MARK_CAPACITY;
    header().names = 2;
    std::strcpy(header().name[1], "solve");
    thread_.file = &header();
    thread_.marks = reinterpret_cast<noised_mark*>(bytes() + NOISED_MARK_MARKS_AT);
  }

  noised_mark_file& header() { return *reinterpret_cast<noised_mark_file*>(words_.data()); }
  void put(std::uint64_t time, std::uint32_t phase = 2) { noised_mark_put_(&thread_, time, phase); }
  RingReader::ReadAt reads() {
    return [this](std::uint64_t offset, void* to, std::size_t size) {
      if (offset > NOISED_MARK_FILE_SIZE || size > NOISED_MARK_FILE_SIZE - offset) return false;
      std::memcpy(to, bytes() + offset, size);
      return true;
    };
  }
  RingReader reader() { return RingReader::open(reads()).value(); }

 private:
  char* bytes() { return reinterpret_cast<char*>(words_.data()); }

  std::vector<std::uint64_t> words_;
  noised_mark_thread thread_{};
};

struct Taken {
  std::vector<Mark> marks;
  std::uint64_t lost = 0;
  bool good = false;
};

Taken take(RingReader& reader) {
  Taken taken;
  taken.good = reader.read(taken.marks, taken.lost);
  return taken;
}

// What a directory's threads marked, as text: "begin main, end main".
std::map<std::uint32_t, std::string> marks_in(MarkDirectory& directory) {
  std::map<std::uint32_t, std::string> threads;
  directory.read([&](const RingReader& ring, const std::vector<Mark>& marks, std::uint64_t) {
    for (const Mark& mark : marks) threads[ring.tid()] += (mark.end ? "end " : "begin ") + ring.name(mark.phase) + ", ";
  });
  return threads;
}

// Runs `act` in a child whose marks go there.
template <typename Act>
pid_t in_child(const std::string& marks, Act act) {
  const pid_t pid = fork();
  if (pid == 0) {
    setenv("NOISED_MARKS", marks.c_str(), 1);
    act();
    _exit(0);
  }
  int status = 0;
  REQUIRE(waitpid(pid, &status, 0) == pid);
  REQUIRE(status == 0);
  return pid;
}

}  // namespace

TEST_CASE("marks: each is read once, in order, with its name", "[marks]") {
  File file;
  RingReader reader = file.reader();
  CHECK(reader.pid() == 7);
  CHECK(reader.tid() == 8);
  CHECK(take(reader).marks.empty());
  file.put(100, 2);
  file.put(200, 3);
  const Taken first = take(reader);
  REQUIRE(first.marks.size() == 2);
  CHECK(first.marks[0].time == 100);
  CHECK_FALSE(first.marks[0].end);
  CHECK(first.marks[1].end);
  CHECK(reader.name(first.marks[1].phase) == "solve");
  file.put(300, 0);
  const Taken second = take(reader);
  REQUIRE(second.marks.size() == 1);
  CHECK(second.lost == 0);
  CHECK(reader.name(second.marks[0].phase) == "other");
}

TEST_CASE("marks: what a full ring overwrites is counted exactly", "[marks]") {
  File file;
  RingReader reader = file.reader();
  const std::uint64_t written = NOISED_MARK_CAPACITY * 3 + 5;
  for (std::uint64_t i = 0; i < written; ++i) file.put(i);
  const Taken taken = take(reader);
  CHECK(taken.lost + taken.marks.size() == written);
  CHECK(taken.marks.size() == NOISED_MARK_CAPACITY - 1);  // the writer may be at the oldest one's place
  CHECK(taken.marks.front().time == taken.lost);
  CHECK(taken.marks.back().time == written - 1);
}

TEST_CASE("marks: beside a writer that overtakes the reader none is torn, doubled or missed uncounted", "[marks]") {
  constexpr std::uint64_t kMarks = 3'000'000;
  File file;
  RingReader reader = file.reader();
  std::thread writer([&] {
    for (std::uint64_t i = 0; i < kMarks; ++i) file.put(i, static_cast<std::uint32_t>(i % 2));
  });
  std::uint64_t next = 0;
  std::uint64_t wrong = 0;
  while (next < kMarks) {
    const Taken taken = take(reader);
    REQUIRE(taken.good);
    next += taken.lost;
    for (const Mark& mark : taken.marks) {
      wrong += mark.time == next && mark.end == (next % 2 != 0) ? 0 : 1;
      ++next;
    }
  }
  writer.join();
  CHECK(wrong == 0);
  CHECK(next == kMarks);
}

TEST_CASE("marks: files of another kind are refused, and one that goes back is given up", "[marks]") {
  const auto broken = [](auto change) {
    File file;
    change(file.header());
    return RingReader::open(file.reads()).ok();
  };
  CHECK(broken([](noised_mark_file&) {}));
  CHECK_FALSE(broken([](noised_mark_file& header) { header.magic = 1; }));
  CHECK_FALSE(broken([](noised_mark_file& header) { header.version = 2; }));
  CHECK_FALSE(broken([](noised_mark_file& header) { header.capacity = 1U << 31U; }));
  CHECK_FALSE(broken([](noised_mark_file& header) { header.clock = 2; }));
  CHECK_FALSE(broken([](noised_mark_file& header) { header.tid = 0; }));
  File file;
  RingReader reader = file.reader();
  file.put(1);
  CHECK(take(reader).good);
  file.header().written = 0;
  CHECK_FALSE(take(reader).good);
  file.header().written = UINT64_MAX;
  CHECK(take(reader).good);
  file.header().written = 5;
  CHECK_FALSE(take(reader).good);
}

TEST_CASE("marks: names that have no end, or no room, are no trouble", "[marks]") {
  File file;
  std::memset(file.header().name, 'x', sizeof file.header().name);
  file.header().names = UINT32_MAX;
  RingReader reader = file.reader();
  file.put(1, 63 * 2);
  file.put(2, UINT32_MAX);
  const Taken taken = take(reader);
  REQUIRE(taken.marks.size() == 2);
  CHECK(reader.name(taken.marks[0].phase) == std::string(NOISED_MARK_NAME_SIZE, 'x'));
  CHECK(reader.name(taken.marks[1].phase) == "other");
}

TEST_CASE("noised/mark.h: threads and forked children have files of their own", "[marks]") {
  const test::TemporaryDirectory directory;
  const pid_t pid = in_child(directory.path(), [] {
    errno = 77;
    noised_mark_begin("main");
    if (errno != 77) _exit(1);
    std::thread([] { noised_mark_begin("thread"); }).join();
    if (fork() == 0) {
      noised_mark_begin("child");
      _exit(0);
    }
    wait(nullptr);
    noised_mark_end("main");
  });
  MarkDirectory marks = MarkDirectory::open(directory.path()).value();
  const auto threads = marks_in(marks);
  REQUIRE(threads.size() == 3);
  CHECK(threads.at(static_cast<std::uint32_t>(pid)) == "begin main, end main, ");
  std::string others;
  for (const auto& [tid, text] : threads) others += tid == static_cast<std::uint32_t>(pid) ? "" : text;
  CHECK(others.find("begin thread, ") != std::string::npos);
  CHECK(others.find("begin child, ") != std::string::npos);
  CHECK(others.size() == std::string("begin thread, begin child, ").size());
  CHECK(marks_in(marks).empty());
  CHECK(marks.refused() == 0);
}

TEST_CASE("noised/mark.h: of 100 names, 63 are kept, and long ones are cut", "[marks]") {
  const test::TemporaryDirectory directory;
  in_child(directory.path(), [] {
    static std::array<std::string, 100> names;
    noised_mark_begin("a name that is longer than a file of marks has room for");
    for (std::size_t i = 0; i < names.size(); ++i) {
      names.at(i) = "phase " + std::to_string(i);
      noised_mark_begin(names.at(i).c_str());
    }
    noised_mark_end(names[0].c_str());
  });
  MarkDirectory marks = MarkDirectory::open(directory.path()).value();
  const std::string text = marks_in(marks).begin()->second;
  CHECK(text.starts_with("begin a name that is longer than a fi, begin phase 0, "));
  CHECK(text.find("begin phase 61, begin other, begin other, ") != std::string::npos);
  CHECK(text.ends_with("begin other, end phase 0, "));
}

TEST_CASE("noised/mark.h: without a directory, or one that cannot be written, marks do nothing", "[marks]") {
  const test::TemporaryDirectory directory;
  const auto mark = [] {
    noised_mark_begin("a");
    noised_mark_end("a");
  };
  in_child("", mark);
  in_child(directory.path("nowhere"), mark);
  in_child("/proc", mark);
  CHECK(std::filesystem::is_empty(directory.path()));
}

TEST_CASE("marks: a directory of its own is private, empties itself and goes", "[marks]") {
  std::string path;
  {
    MarkDirectory marks = MarkDirectory::create().value();
    path = marks.path();
    CHECK(std::filesystem::status(path).permissions() == std::filesystem::perms::owner_all);
    in_child(path, [] { noised_mark_begin("a"); });
    CHECK(marks_in(marks).size() == 1);
    CHECK(std::filesystem::is_empty(path));
    in_child(path, [] { noised_mark_begin("a"); });
  }
  CHECK_FALSE(std::filesystem::exists(path));
}

TEST_CASE("marks: what lies in the directory besides is counted, not read", "[marks]") {
  const test::TemporaryDirectory directory;
  directory.write("1.1.marks", "no marks");
  directory.write("notes", "nothing");
  std::filesystem::create_symlink("/etc/passwd", directory.path("2.2.marks"));
  std::filesystem::create_directory(directory.path("3.3.marks"));
  REQUIRE(mkfifo(directory.path("4.4.marks").c_str(), 0600) == 0);
  MarkDirectory marks = MarkDirectory::open(directory.path()).value();
  CHECK(marks_in(marks).empty());
  CHECK(marks.refused() == 4);
  CHECK(marks_in(marks).empty());
  CHECK(marks.refused() == 4);
  CHECK_FALSE(MarkDirectory::open(directory.path("none")).ok());
}
