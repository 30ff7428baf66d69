// What stands behind the main() of a program that is built with a sanitizer: its runtime calls these functions for each report, and finds them
// in the program alone, not in a library.
#ifndef CUEMU_SANITIZED_MAIN_H
#define CUEMU_SANITIZED_MAIN_H

#include "cuemu/sanitizer.h"

extern "C" {

void cuemu_tell_where(void);
void cuemu_tell_undefined(const char *kind, const char *message, const char *file, unsigned line);

#if CUEMU_ASAN
void __ubsan_get_current_report_data(const char **kind, const char **message, const char **file, unsigned *line, unsigned *column, char **address);
CUEMU_PLAIN void __asan_on_error(void) { cuemu_tell_where(); }
CUEMU_PLAIN void __ubsan_on_report(void) {
	const char *kind, *message, *file;
	unsigned line, column;
	char *address;
	__ubsan_get_current_report_data(&kind, &message, &file, &line, &column, &address);
	cuemu_tell_undefined(kind, message, file, line);
}
#endif
#if CUEMU_TSAN
CUEMU_PLAIN void __tsan_on_report(const void *) { cuemu_tell_where(); }
#endif

}  // extern "C"

#endif
