// A program that is built with CUEMU_OBSERVED is not judged: its main() runs so that what it allocates, copies and launches can be recorded. Its kernels
// do not run.
#ifndef CUEMU_OBSERVED_H
#define CUEMU_OBSERVED_H

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <type_traits>

namespace cuemu {
struct Job;

// Observed is an argument of a launch: 'p' a pointer, 'i' an integer, 'f' a float, 's' anything else.
struct Observed {
	char kind;
	bool constant;                                         // of a pointer: to const
	uint32_t bytes;                                        // of a pointer: of an element
	int64_t whole;
	double real;
};

template <class T> inline Observed observed(const T &value) {
	if constexpr (std::is_null_pointer_v<T>) return {'p', false, 1, 0, 0};
	else if constexpr (std::is_pointer_v<T>) {
		using Element = std::remove_pointer_t<T>;
		uint32_t bytes = 1;
		if constexpr (!std::is_void_v<Element> && !std::is_function_v<Element>) bytes = sizeof(Element);
		return {'p', std::is_const_v<Element>, bytes, static_cast<int64_t>(reinterpret_cast<uintptr_t>(value)), 0};
	} else if constexpr (std::is_integral_v<T> || std::is_enum_v<T>) return {'i', false, sizeof(T), static_cast<int64_t>(value), 0};
	else if constexpr (std::is_floating_point_v<T>) return {'f', false, sizeof(T), 0, static_cast<double>(value)};
	else return {'s', false, sizeof(T), 0, 0};
}

// word_of is a template's argument as one word: a number by its value, a type by its name.
template <auto VALUE> inline std::string word_of() {
	if constexpr (std::is_integral_v<decltype(VALUE)> || std::is_enum_v<decltype(VALUE)>) return std::to_string(static_cast<long long>(VALUE));
	else return "?";
}
template <class T> inline std::string word_of() {
	const std::string text = __PRETTY_FUNCTION__;
	const size_t from = text.find("T = ") + 4;
	return text.substr(from, text.find_first_of(";]", from) - from);
}

// name_of is a kernel's name with the arguments of its template; it is kept for good.
inline const char *name_of(const char *name, std::initializer_list<std::string> words) {
	std::string *all = new std::string(name);
	for (const std::string &word : words) *all += (&word == words.begin() ? "<" : ", ") + word;
	return (*all += ">").c_str();
}

}  // namespace cuemu

extern "C" __attribute__((visibility("default"))) void cuemu_observed_launch(const cuemu::Job *job, const cuemu::Observed *arguments, size_t many);

#endif
