package ownkernels

import (
	"regexp"
	"slices"
	"strings"

	"triad/cuda/build"
	"triad/internal/fileversion"
)

// newerCPP finds features that C++17 lacks: headers, names of the library, concepts and requires clauses.
var newerCPP = regexp.MustCompile(
	`(?m)^\s*#\s*include\s*<(?:bit|compare|concepts|format|numbers|ranges|source_location|span|` +
		`stop_token)>|` +
		`\bstd::(?:bit_cast|bit_ceil|bit_floor|bit_width|convertible_to|countl_zero|countr_zero|` +
		`floating_point|has_single_bit|integral|invocable|jthread|lerp|midpoint|numbers|popcount|ranges|` +
		`remove_cvref_t|same_as|signed_integral|source_location|span|ssize|unsigned_integral)\b|` +
		`^\s*(?:template\s*<[^;{}]*>\s*)?(?:concept\s+\w+\s*=|requires\b)`)

// foundFlags returns the flags of a file, followed by those that its text and its repository imply.
func foundFlags(path string, text []byte, flags []string) []string {
	flags = slices.Concat(flags, nearHeaders(path, text, flags))
	return slices.Concat(flags, newerStandard(path, text, flags))
}

// newerStandard returns the flag for a file that is not C++17, in its own text or in what it includes; the
// default for nvcc is C++17.
func newerStandard(path string, text []byte, flags []string) []string {
	if slices.ContainsFunc(flags, func(f string) bool { return strings.HasPrefix(f, "-std=") }) {
		return nil
	}
	newer := newerCPP.Match(text)
	for _, header := range fileversion.Included(path, build.HeaderFolders(flags)) {
		newer = newer || newerCPP.Match(header.Text)
	}
	if !newer {
		return nil
	}
	return []string{"-std=c++20"}
}
