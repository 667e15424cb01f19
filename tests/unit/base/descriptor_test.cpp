// SPDX-License-Identifier: Apache-2.0
// A descriptor is closed exactly once, by its last owner; a small file is read whole or refused.
#include <catch2/catch_test_macros.hpp>

#include <fcntl.h>
#include <sys/resource.h>

#include <cerrno>

#include "base/files.h"
#include "unit/base/temporary_directory.h"

namespace noised {

namespace {

bool is_open(int descriptor) { return ::fcntl(descriptor, F_GETFD) >= 0; }
Descriptor open_null() { return Descriptor(::open("/dev/null", O_RDONLY | O_CLOEXEC)); }

}  // namespace

TEST_CASE("a descriptor is closed when its owner goes") {
  int number = -1;
  {
    const Descriptor owner = open_null();
    REQUIRE(owner);
    number = owner.get();
    CHECK(is_open(number));
  }
  CHECK_FALSE(is_open(number));
}

TEST_CASE("moving a descriptor moves its ownership") {
  Descriptor first = open_null();
  const int number = first.get();
  Descriptor second(std::move(first));
  CHECK_FALSE(first);  // NOLINT(bugprone-use-after-move): what is left is part of the contract
  CHECK(second.get() == number);

  Descriptor third = open_null();
  const int replaced = third.get();
  third = std::move(second);
  CHECK_FALSE(is_open(replaced));
  CHECK(third.get() == number);
  CHECK(is_open(number));

  Descriptor& alias = third;
  third = std::move(alias);
  CHECK(is_open(number));
}

TEST_CASE("a released descriptor stays open") {
  Descriptor owner = open_null();
  const Descriptor next(owner.release());
  CHECK_FALSE(owner);
  CHECK(is_open(next.get()));
}

TEST_CASE("a file is read whole, and what cannot be read is named") {
  const test::TemporaryDirectory directory;
  directory.write("long", std::string(10'000, 'x'));
  directory.write("empty", "");
  directory.write("huge", std::string((1 << 20) + 1, 'x'));
  CHECK(read_file(directory.path("long")).value() == std::string(10'000, 'x'));
  CHECK(read_file(directory.path("empty")).value().empty());
  CHECK(read_file(directory.path("huge")).error().line().find("larger than 1 MiB") != std::string::npos);
  CHECK(read_file(directory.path("none")).error().line() ==
        "cannot open " + directory.path("none") + ": No such file or directory");
  CHECK(read_file(directory.path()).error().line().find("Is a directory") != std::string::npos);
}

TEST_CASE("a file without a name takes all bytes, and leaves nothing in its directory") {
  const test::TemporaryDirectory directory;
  const auto file = nameless_file(directory.path("export"));
  REQUIRE(file);
  CHECK(std::filesystem::is_empty(directory.path()));
  const std::string bytes(100'000, 'x');
  REQUIRE(write_all(file.value().get(), bytes) == 0);
  std::string read(bytes.size(), ' ');
  CHECK(::pread(file.value().get(), read.data(), read.size(), 0) == static_cast<ssize_t>(bytes.size()));
  CHECK(read == bytes);
  const Descriptor full(::open("/dev/full", O_WRONLY | O_CLOEXEC));
  CHECK(write_all(full.get(), bytes) == ENOSPC);
  CHECK(nameless_file(directory.path("no/export")).error().line().find("no/export.") != std::string::npos);
}

TEST_CASE("where the limit of open files is too low it is raised as far as it goes, or the error says how") {
  rlimit before{};
  REQUIRE(::getrlimit(RLIMIT_NOFILE, &before) == 0);
  const test::TemporaryDirectory directory;
  const auto next = static_cast<rlim_t>(open_null().get());  // every number below it is taken
  const rlimit low{next, before.rlim_max};
  REQUIRE(::setrlimit(RLIMIT_NOFILE, &low) == 0);
  const auto refused = nameless_file(directory.path("export"));
  allow_open_files();
  const auto allowed = nameless_file(directory.path("export"));
  REQUIRE(::setrlimit(RLIMIT_NOFILE, &before) == 0);
  CHECK(allowed);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().remedy.find("ulimit -Hn") != std::string::npos);
}

}  // namespace noised
