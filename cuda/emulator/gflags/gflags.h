// Command line flags: the few of gflags with which a main() describes its own sizes. No command line is read,
// so that each flag keeps its default.
#pragma once
#include <cstdint>
#include <string>

#define CUEMU_FLAG(type, name, value) type FLAGS_##name = value
#define DEFINE_bool(name, value, words) CUEMU_FLAG(bool, name, value)
#define DEFINE_int32(name, value, words) CUEMU_FLAG(std::int32_t, name, value)
#define DEFINE_uint32(name, value, words) CUEMU_FLAG(std::uint32_t, name, value)
#define DEFINE_int64(name, value, words) CUEMU_FLAG(std::int64_t, name, value)
#define DEFINE_uint64(name, value, words) CUEMU_FLAG(std::uint64_t, name, value)
#define DEFINE_double(name, value, words) CUEMU_FLAG(double, name, value)
#define DEFINE_string(name, value, words) CUEMU_FLAG(std::string, name, value)

namespace gflags {
inline std::uint32_t ParseCommandLineFlags(int *, char ***, bool) { return 1; }
inline void SetUsageMessage(const std::string &) {}
inline void ShutDownCommandLineFlags() {}
} // namespace gflags
namespace google = gflags;
