// SPDX-License-Identifier: Apache-2.0
// /proc/PID/stat of any bytes: a task whose name stands in parentheses in the text, or nothing.
#include "fuzz.h"
#include "system/proc_tasks.h"

using noised::fuzz::check;

extern "C" int fuzz_task_stat(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = noised::fuzz::text(data, size);
  const auto task = noised::system::parse_task_stat(text);
  if (!task) return 0;
  check(task->pid != 0, "a task has a pid", text);
  check(text.find("(" + task->name + ")") != std::string_view::npos, "a name is in the text", task->name);
  const std::string comm = noised::system::comm_of(*task);
  check(comm.size() <= 15 && task->name.starts_with(comm), "a comm is the beginning of the name", comm);
  return 0;
}
