package build

import (
	"bytes"
	"fmt"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"unicode"
)

// flagsLine begins the line of a kernel file that names flags for its compiler, as triad writes it above a
// user's own file. The flags are part of the text, so that every hash of the file covers them.
const flagsLine = "// triad flags: "

// FlagsLine returns the line of a kernel file that asks for compiler flags; "" for none.
func FlagsLine(flags []string) string {
	if len(flags) == 0 {
		return ""
	}
	return flagsLine + JoinFlags(flags) + "\n"
}

// JoinFlags writes flags as one line and quotes those with a space or an apostrophe, which a folder's name
// may have.
func JoinFlags(flags []string) string {
	words := make([]string, len(flags))
	for i, f := range flags {
		if words[i] = f; strings.ContainsAny(f, " \t'") {
			words[i] = `"` + f + `"`
		}
	}
	return strings.Join(words, " ")
}

// SplitFlags splits a line into flags: words, parts of which may be in double or single quotes.
func SplitFlags(line string) (flags []string) {
	var word strings.Builder
	quote, begun := rune(0), false
	for _, c := range line + " " {
		switch {
		case quote == 0 && (c == '"' || c == '\''):
			quote, begun = c, true
		case quote != 0 && c == quote:
			quote = 0
		case quote == 0 && unicode.IsSpace(c):
			if begun {
				flags = append(flags, word.String())
			}
			word.Reset()
			begun = false
		default:
			word.WriteRune(c)
			begun = true
		}
	}
	if quote != 0 { // unterminated
		return append(flags, strings.TrimSpace(word.String()))
	}
	return flags
}

// allowedFlag matches the flags that a user may pass to nvcc. Flags that choose files, architectures or the
// kind of output are reserved for triad.
var (
	allowedFlag = regexp.MustCompile(
		`^(-[DU][A-Za-z_]\w*(=[\w.+-]*)?|-I[\p{L}\p{N}\w ./+@=,~()\[\]#%&'-]+|--?use_fast_math|` +
			`--?(fmad|ftz|prec-div|prec-sqrt)=(true|false)|` +
			`--?maxrregcount=\d+|-O[0-3]|--?(restrict|extended-lambda|expt-relaxed-constexpr|lineinfo)|-w|` +
			`-std=c\+\+(17|20))$`)
	emulatedFlag = regexp.MustCompile(`^-([DUI]|std=)`)
)

// CheckFlags returns the flags that also apply to the emulator: definitions, folders of headers and the
// language standard. The error names a flag that nvcc must not get.
func CheckFlags(flags []string) (emulated []string, err error) {
	for _, f := range flags {
		if !allowedFlag.MatchString(f) {
			return nil, fmt.Errorf("%q is no flag that may be given: want -DNAME[=VALUE], -UNAME, "+
				"-IFOLDER, -use_fast_math, -fmad=, -ftz=, -prec-div= or -prec-sqrt= with true or false, "+
				"-maxrregcount=N, -O0 to -O3, -restrict, -extended-lambda, -expt-relaxed-constexpr, "+
				"-lineinfo, -std=c++17, -std=c++20 or -w; other files come by #include, the "+
				"architecture is the GPU's", f)
		}
		if emulatedFlag.MatchString(f) {
			emulated = append(emulated, f)
		}
	}
	return emulated, nil
}

// Flags returns the compiler flags that the main file of a set asks for. Folders of headers become those of
// the build folder, which holds the included headers.
func (s *SourceSet) Flags() ([]string, error) {
	line, _, _ := bytes.Cut(s.Files[s.Main].Text, []byte("\n"))
	words, ok := strings.CutPrefix(string(line), flagsLine)
	if !ok {
		return nil, nil
	}
	flags := SplitFlags(words)
	if _, err := CheckFlags(flags); err != nil {
		return nil, &Error{File: filepath.ToSlash(s.Name), Line: 1, Message: err.Error()}
	}
	for i, f := range flags {
		if folder, ok := strings.CutPrefix(f, "-I"); ok {
			flags[i] = "-I" + path.Join(OnDisk, filepath.ToSlash(folder))
		}
	}
	return flags, nil
}

// HeaderFolders returns the folders of headers that flags name.
func HeaderFolders(flags []string) []string {
	var all []string
	for _, f := range flags {
		if folder, ok := strings.CutPrefix(f, "-I"); ok {
			all = append(all, folder)
		}
	}
	return all
}
