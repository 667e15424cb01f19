/* SPDX-License-Identifier: Apache-2.0
 * noised/mark.h for noised_mark.f90: names that stay where they are, and functions that can be called. */
#include <noised/mark.h>

const char* noised_mark_fortran_name(const char* text, int length);
void noised_mark_fortran_begin(const char* name);
void noised_mark_fortran_end(const char* name);

#define NAMES 63
#define SIZE 32

/* The same text has the same place, from whichever thread. */
const char* noised_mark_fortran_name(const char* text, int length) {
  static char names[NAMES][SIZE];
  static int known;
  static int busy;
  char name[SIZE] = {0};
  int number = 0;
  const char* found = "other";
  while (length > 0 && text[length - 1] == ' ') --length;
  if (length > SIZE - 1) length = SIZE - 1;
  if (length > 0) memcpy(name, text, (size_t)length);
  while (__atomic_exchange_n(&busy, 1, __ATOMIC_ACQUIRE)) {
  }
  while (number < known && memcmp(names[number], name, SIZE) != 0) ++number;
  if (number < NAMES) {
    if (number == known) memcpy(names[known++], name, SIZE);
    found = names[number];
  }
  __atomic_store_n(&busy, 0, __ATOMIC_RELEASE);
  return found;
}

void noised_mark_fortran_begin(const char* name) { noised_mark_begin(name); }
void noised_mark_fortran_end(const char* name) { noised_mark_end(name); }
