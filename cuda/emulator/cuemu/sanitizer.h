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
#if defined(__SANITIZE_THREAD__)
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

#endif
