// SPDX-License-Identifier: Apache-2.0
// Programs are told apart by who holds them, so that another daemon on the machine is no one's leftover.
#include "left_behind.h"

#include <bpf/bpf.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>

#include "base/files.h"
#include "command.h"

namespace noised::live {
namespace {

namespace fs = std::filesystem;
using Programs = std::map<unsigned, std::string>;  // name by id

Programs loaded_programs() {
  Programs programs;
  for (unsigned id = 0; bpf_prog_get_next_id(id, &id) == 0;) {
    const Descriptor program(bpf_prog_get_fd_by_id(id));
    bpf_prog_info info{};
    unsigned size = sizeof(info);
    if (program.get() < 0 || bpf_obj_get_info_by_fd(program.get(), &info, &size) != 0) continue;
    const std::string name = info.name;
    if (name.starts_with("btf_") || name.starts_with("raw_")) programs[id] = name;
  }
  return programs;
}

// Descriptors of programs and of their links both tell the program's number.
void forget_held(Programs& programs) {
  std::error_code error;
  for (const auto& process : fs::directory_iterator("/proc", error)) {
    std::error_code gone;
    for (const auto& descriptor : fs::directory_iterator(process.path() / "fdinfo", gone)) {
      std::ifstream file(descriptor.path());
      unsigned id = 0;
      for (std::string label; file >> label;) {
        if (label == "prog_id:" && file >> id) programs.erase(id);
      }
    }
  }
}

Programs ownerless_programs() {
  Programs programs = loaded_programs();
  if (!programs.empty()) forget_held(programs);
  return programs;
}

}  // namespace

std::vector<std::string> names_in(const std::string& directory) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(directory)) names.push_back(entry.path().filename());
  std::sort(names.begin(), names.end());
  return names;
}

std::vector<std::string> programs_left_behind() {
  Programs left;
  eventually([&left] { return (left = ownerless_programs()).empty(); }, std::chrono::seconds(2));
  std::vector<std::string> names;
  for (const auto& [id, name] : left) names.push_back(name);
  return names;
}

}  // namespace noised::live
