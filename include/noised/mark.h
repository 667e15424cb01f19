/* SPDX-License-Identifier: Apache-2.0
 * Marks the phases of an application for noisectl watch --phases. C99, C++; nothing to link.
 *
 *     #include <noised/mark.h>
 *     noised_mark_begin("solve");
 *     ...
 *     noised_mark_end("solve");
 *
 * A phase begins and ends in one thread; phases may be nested. A name is a string that stays as it is, such as a
 * literal; of its bytes, 31 are kept, and of the names of a thread, 63: the others are called "other". If the
 * environment variable NOISED_MARKS names a directory, a thread's first mark creates a file there, and each mark is a
 * clock read and three stores into it; otherwise, and where that fails, marks do nothing. They never wait and never
 * touch errno. Elsewhere than on x86-64 Linux they are empty. */
#ifndef NOISED_MARK_H
#define NOISED_MARK_H

/* NOLINTBEGIN: C */
#include <stdint.h>

#define NOISED_MARK_MAGIC 0x314b52414d53494eULL /* "NISMARK1" in memory */
#define NOISED_MARK_VERSION 1
#define NOISED_MARK_CAPACITY 16384 /* marks in a ring, a power of two */
#define NOISED_MARK_NAMES 64
#define NOISED_MARK_NAME_SIZE 32
#define NOISED_MARK_MARKS_AT 4096 /* where they begin in the file */

enum noised_mark_clock { NOISED_MARK_TSC = 0, NOISED_MARK_MONOTONIC = 1 };

struct noised_mark {
  uint64_t time;  /* by the file's clock: ticks, or nanoseconds */
  uint32_t phase; /* the number of its name, times 2; 1 more at its end */
  uint32_t zero;
};

/* What the file of a thread begins with. */
struct noised_mark_file {
  uint64_t magic; /* written last */
  uint32_t version;
  uint32_t clock; /* enum noised_mark_clock */
  uint32_t pid;
  uint32_t tid;
  uint32_t capacity;
  uint32_t names;      /* so many are valid; number 0 is for those that have no room */
  uint64_t start_time; /* by the file's clock, and */
  uint64_t start_ns;   /* CLOCK_MONOTONIC, one after the other when it was created */
  uint8_t unused[16];
  uint64_t written; /* marks so far: the next goes to place `written` modulo capacity */
  uint8_t unused_too[56];
  char name[NOISED_MARK_NAMES][NOISED_MARK_NAME_SIZE];
};

#define NOISED_MARK_FILE_SIZE (NOISED_MARK_MARKS_AT + (uint64_t)NOISED_MARK_CAPACITY * sizeof(struct noised_mark))

#ifndef NOISED_MARK_LAYOUT_ONLY
#if defined(__x86_64__) && defined(__linux__) && (defined(__GNUC__) || defined(__clang__))

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifdef __cplusplus
extern "C" {
#else
/* Declared by <unistd.h> too, unless the compiler was told to be strict. */
long syscall(long number, ...);
#endif
/* Of the C library: calls back at a thread's end, without libpthread. */
extern int __cxa_thread_atexit_impl(void (*)(void*), void*, void*) __attribute__((weak));
extern void* __dso_handle __attribute__((visibility("hidden")));

struct noised_mark_slot {
  const char* name;
  uint32_t number;
};

/* What a thread has to itself, in memory that a fork wipes: a child must not write into its parent's file. */
struct noised_mark_thread {
  struct noised_mark_file* file; /* null: none yet */
  struct noised_mark* marks;
  struct noised_mark_slot slots[256]; /* by the name's address */
};

/* One of each in a program, however many of its files include this. */
__attribute__((weak)) struct noised_mark_thread noised_mark_unset_; /* of a thread before its first mark */
__attribute__((weak)) struct noised_mark_thread noised_mark_off_;   /* of one that shall not mark */
__attribute__((weak)) __thread struct noised_mark_thread* noised_mark_thread_ = &noised_mark_unset_;

static void noised_mark_close_(void* of) {
  struct noised_mark_thread* const thread = (struct noised_mark_thread*)of;
  noised_mark_thread_ = &noised_mark_off_;
  if (thread->file) munmap(thread->file, NOISED_MARK_FILE_SIZE);
  munmap(thread, sizeof *thread);
}

static struct noised_mark_file* noised_mark_map_(const char* directory, uint32_t pid, uint32_t tid) {
  char path[4096];
  int file = -1;
  int number = 0;
  void* map = MAP_FAILED;
  for (; number < 16 && file < 0; ++number) {
    const int size =
        number == 0 ? snprintf(path, sizeof path, "%s/%lu.%lu.marks", directory, (unsigned long)pid, (unsigned long)tid)
                    : snprintf(path, sizeof path, "%s/%lu.%lu.%d.marks", directory, (unsigned long)pid,
                               (unsigned long)tid, number);
    if (size < 0 || (size_t)size >= sizeof path) return NULL;
    /* O_NOFOLLOW and O_CLOEXEC: strict compilers hide their names. */
    file = open(path, O_RDWR | O_CREAT | O_EXCL | 0400000 | 02000000, 0600);
    if (file < 0 && errno != EEXIST) return NULL;
  }
  if (file < 0) return NULL;
  /* Not ftruncate: on a full file system, the first store would be a bus error. */
  if (syscall(SYS_fallocate, file, 0, 0L, (long)NOISED_MARK_FILE_SIZE) == 0)
    map = mmap(NULL, NOISED_MARK_FILE_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED | 0x8000 /* MAP_POPULATE */, file, 0);
  if (map != MAP_FAILED && syscall(SYS_madvise, map, (long)NOISED_MARK_FILE_SIZE, 10 /* MADV_DONTFORK */) != 0) {
    munmap(map, NOISED_MARK_FILE_SIZE);
    map = MAP_FAILED;
  }
  close(file);
  if (map != MAP_FAILED) return (struct noised_mark_file*)map;
  unlink(path);
  return NULL;
}

static struct noised_mark_thread* noised_mark_new_(void) {
  struct noised_mark_thread* thread;
  void* const map = mmap(NULL, sizeof *thread, PROT_READ | PROT_WRITE, MAP_PRIVATE | 0x20 /* MAP_ANONYMOUS */, -1, 0);
  if (map == MAP_FAILED) return NULL;
  thread = (struct noised_mark_thread*)map;
  if (syscall(SYS_madvise, map, (long)sizeof *thread, 18 /* MADV_WIPEONFORK */) != 0) {
    munmap(map, sizeof *thread);
    return NULL;
  }
  if (__cxa_thread_atexit_impl) __cxa_thread_atexit_impl(noised_mark_close_, thread, &__dso_handle);
  return thread;
}

/* The thread's own memory with its file; noised_mark_off_ where it shall not mark. */
__attribute__((noinline, cold, unused)) static struct noised_mark_thread* noised_mark_open_(void) {
  const int error = errno;
  struct noised_mark_thread* thread = noised_mark_thread_;
  const char* const directory = getenv("NOISED_MARKS");
  const uint32_t pid = (uint32_t)getpid();
  const uint32_t tid = (uint32_t)syscall(SYS_gettid);
  struct noised_mark_file* file = NULL;
  struct {
    long seconds, nanoseconds;
  } now = {0, 0};
  noised_mark_thread_ = &noised_mark_off_; /* for a signal handler that marks meanwhile, too */
  if (directory && *directory && !getauxval(AT_SECURE)) {
    if (thread == &noised_mark_unset_) thread = noised_mark_new_();
    if (thread) file = noised_mark_map_(directory, pid, tid);
  }
  if (file) {
    file->version = NOISED_MARK_VERSION;
    file->clock = NOISED_MARK_TSC;
    file->pid = pid;
    file->tid = tid;
    file->capacity = NOISED_MARK_CAPACITY;
    memcpy(file->name[0], "other", 6);
    file->names = 1;
    file->start_time = __builtin_ia32_rdtsc();
    syscall(SYS_clock_gettime, 1 /* CLOCK_MONOTONIC */, &now);
    file->start_ns = (uint64_t)now.seconds * 1000000000U + (uint64_t)now.nanoseconds;
    __atomic_store_n(&file->magic, NOISED_MARK_MAGIC, __ATOMIC_RELEASE);
    thread->file = file;
    thread->marks = (struct noised_mark*)((char*)file + NOISED_MARK_MARKS_AT);
    noised_mark_thread_ = thread;
  }
  errno = error;
  return noised_mark_thread_;
}

__attribute__((noinline, cold, unused)) static uint32_t noised_mark_name_(struct noised_mark_thread* thread,
                                                                          const char* name,
                                                                          struct noised_mark_slot* slot) {
  struct noised_mark_file* const file = thread->file;
  const uint32_t names = file->names < NOISED_MARK_NAMES ? file->names : NOISED_MARK_NAMES;
  uint32_t number = 1;
  while (number < names && strncmp(file->name[number], name, NOISED_MARK_NAME_SIZE - 1) != 0) ++number;
  if (number == NOISED_MARK_NAMES) number = 0;
  if (number == names) {
    strncpy(file->name[number], name, NOISED_MARK_NAME_SIZE - 1);
    __atomic_store_n(&file->names, names + 1, __ATOMIC_RELEASE);
  }
  slot->name = name;
  slot->number = number;
  return number;
}

static inline uint32_t noised_mark_number_(struct noised_mark_thread* thread, const char* name) {
  struct noised_mark_slot* const slot = &thread->slots[(uint32_t)((uint32_t)(uintptr_t)name * 0x9e3779b1U) >> 24];
  return __builtin_expect(slot->name == name, 1) ? slot->number : noised_mark_name_(thread, name, slot);
}

/* The mark is complete before it is counted, so that who reads beside never sees half of one. */
static inline void noised_mark_put_(struct noised_mark_thread* thread, uint64_t time, uint32_t phase) {
  const uint64_t at = thread->file->written;
  struct noised_mark* const mark = &thread->marks[at & (NOISED_MARK_CAPACITY - 1)];
  mark->time = time;
  mark->phase = phase;
  __atomic_store_n(&thread->file->written, at + 1, __ATOMIC_RELEASE);
}

/* The thread's own memory, or null if it shall not mark. */
static inline struct noised_mark_thread* noised_mark_here_(void) {
  struct noised_mark_thread* thread = noised_mark_thread_;
  if (__builtin_expect(thread->file == NULL, 0)) {
    if (thread == &noised_mark_off_) return NULL;
    thread = noised_mark_open_();
    if (thread == &noised_mark_off_) return NULL;
  }
  return thread;
}

/* Here a phase of this name begins. */
static inline void noised_mark_begin(const char* name) {
  struct noised_mark_thread* const thread = noised_mark_here_();
  uint32_t number;
  if (!thread) return;
  number = noised_mark_number_(thread, name);
  noised_mark_put_(thread, __builtin_ia32_rdtsc(), number * 2);
}

/* Here the last phase of this name that this thread began ends. */
static inline void noised_mark_end(const char* name) {
  struct noised_mark_thread* const thread = noised_mark_here_();
  uint64_t time;
  if (!thread) return;
  time = __builtin_ia32_rdtsc();
  noised_mark_put_(thread, time, noised_mark_number_(thread, name) * 2 + 1);
}

#ifdef __cplusplus
}
#endif

#else
static inline void noised_mark_begin(const char* name) { (void)name; }
static inline void noised_mark_end(const char* name) { (void)name; }
#endif
#endif
/* NOLINTEND */
#endif
