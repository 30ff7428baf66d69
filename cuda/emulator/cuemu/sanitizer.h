// Which sanitizer this is compiled with, and how a function stays out of its sight.
#ifndef CUEMU_SANITIZER_H
#define CUEMU_SANITIZER_H

#if defined(__SANITIZE_ADDRESS__)
#define CUEMU_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define CUEMU_ASAN 1
#endif
#endif
// CUEMU_ACCESSES: the compiler's calls for ThreadSanitizer go to access.cc of the emulator, and there is no ThreadSanitizer.
#if defined(CUEMU_ACCESSES)
#define CUEMU_TSAN 0
#elif defined(__SANITIZE_THREAD__)
#define CUEMU_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define CUEMU_TSAN 1
#endif
#endif
#ifndef CUEMU_ASAN
#define CUEMU_ASAN 0
#endif
#ifndef CUEMU_TSAN
#define CUEMU_TSAN 0
#endif
#define CUEMU_SANITIZER (CUEMU_ASAN || CUEMU_TSAN)

// The scheduler's functions must not be instrumented: clang's fake stacks break when a fiber dies in an instrumented frame, and the
// scheduler's own memory traffic must not order the threads for TSan.
#define CUEMU_PLAIN __attribute__((no_sanitize("address"), no_sanitize("thread"), no_sanitize("undefined")))

// For a function whose own variables are none of the kernel's: its accesses are not seen, and it stays a function.
#define CUEMU_UNWATCHED CUEMU_PLAIN __attribute__((noinline))

#endif
