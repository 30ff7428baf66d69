package build

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/google/renameio/v2"

	"triad/cuda/rewrite"
)

// absentFolder is the folder of a build folder with the files that stand for absent headers. It is as deep as
// paths that begin with ../ need.
const absentFolder = "absent/1/2/3/4/5/6"

// mostWithout is the maximum number of times that a file is compiled without something.
const mostWithout = 12

var (
	absentHeader = regexp.MustCompile(
		`fatal error: '?([^:'\n]+)'?(?:: No such file or directory| file not found)`)
	conditional = regexp.MustCompile(`(?m)^[ \t]*#[ \t]*(?:ifdef|ifndef|if|elif)\b(.*)`)
	macroName   = regexp.MustCompile(`\b[A-Za-z_]\w*`)
	undeclared  = regexp.MustCompile(`^['‘](\w+)['’] was not declared|` +
		`(?:use of undeclared )?identifier ['"](\w+)['"](?: is undefined)?`)
	// messages about what C++20 has and C++17 lacks
	ofNewerStandard = regexp.MustCompile(`[Cc]\+\+2[0-9a-c]|['‘](?:std::)?(?:bit_cast|bit_ceil|bit_floor|` +
		`bit_width|concept|consteval|constinit|contains|convertible_to|countl_zero|countr_zero|ends_with|` +
		`floating_point|format|has_single_bit|integral|invocable|jthread|lerp|midpoint|numbers|popcount|` +
		`ranges|remove_cvref_t|requires|same_as|signed_integral|source_location|span|ssize|starts_with|` +
		`unsigned_integral|views)\b`)
	ofLibrary = regexp.MustCompile(`(?i)\b(cublas|cudnn|curand|cusparse|cusolver|cufft|nccl|thrust|torch)`)
)

// WithoutAbsentHeaders builds a user's file. An absent header counts as empty, and a function of the host
// that uses it, or a library that the emulator lacks, is left out, as long as the rest compiles without them:
// otherwise the error is the first one. What was left out is kept in a folder, since compilers take longer to
// fail than to succeed from the cache.
func WithoutAbsentHeaders[T any](set *SourceSet, folder string, compile func() (T, error)) (T, error) {
	kept := filepath.Join(folder, "without-"+set.hash([]string{set.Name})+".json")
	whole := maps.Clone(set.Files)
	if set.takeLeftOut(kept) {
		if result, err := compile(); err == nil {
			return result, nil
		}
		set.Files, set.newer = whole, false
	}
	result, first := compile()
	err := first
	for range mostWithout {
		var refused *Error
		if !errors.As(err, &refused) || !set.leaveOut(refused) {
			break
		}
		if result, err = compile(); err == nil {
			return result, set.keepLeftOut(kept, whole)
		}
	}
	return result, first
}

// leftOut holds the files that a build changes, and whether it takes a newer standard of C++.
type leftOut struct {
	Files map[string]SourceFile
	Newer bool
}

// takeLeftOut changes the set as another build of it found to be necessary. It reports whether one did.
func (s *SourceSet) takeLeftOut(kept string) bool {
	text, err := os.ReadFile(kept)
	changed := leftOut{}
	if err != nil || json.Unmarshal(text, &changed) != nil {
		return false
	}
	s.Files, s.newer = maps.Clone(s.Files), changed.Newer
	maps.Copy(s.Files, changed.Files)
	return true
}

// keepLeftOut keeps the files that differ from those of the whole set.
func (s *SourceSet) keepLeftOut(kept string, whole map[string]SourceFile) error {
	changed := leftOut{map[string]SourceFile{}, s.newer}
	for at, file := range s.Files {
		if before, there := whole[at]; !there || !bytes.Equal(before.Text, file.Text) {
			changed.Files[at] = file
		}
	}
	text, err := json.Marshal(changed)
	if err != nil {
		return fmt.Errorf("keep what a build leaves out: %w", err)
	}
	if err := renameio.WriteFile(kept, text, 0o644); err != nil {
		return fmt.Errorf("keep what a build leaves out: %w", err)
	}
	return nil
}

// leaveOut changes the set so that an error about something absent does not occur again. It reports whether
// it could.
func (s *SourceSet) leaveOut(refused *Error) bool {
	header := absentHeader.FindStringSubmatch(refused.Message + "\n" + refused.Log)
	flags, _ := s.Flags() // the builder of the set reports their errors
	stated := slices.ContainsFunc(flags, func(f string) bool { return strings.HasPrefix(f, "-std=") })
	switch {
	case header != nil:
		return s.standInFor(header[1])
	case !s.newer && !stated && ofNewerStandard.MatchString(refused.Message):
		s.newer = true
		return true
	case len(s.absentFolders()) == 0 && !ofLibrary.MatchString(refused.Message):
		return false
	}
	return s.defineCheck(refused.Message) || s.blankItemOf(refused)
}

// standInFor adds an empty file for an absent header.
func (s *SourceSet) standInFor(header string) bool {
	at := path.Join(absentFolder, header)
	if _, known := s.Files[at]; known || !strings.HasPrefix(at, "absent/") ||
		s.isQuoted(header) && s.asksMacroOfOthers() {
		return false
	}
	s.Files[at] = SourceFile{Name: header}
	return true
}

// isQuoted reports whether a file of the set includes a header in quotes, as one of its own repository.
func (s *SourceSet) isQuoted(header string) bool {
	for _, file := range s.Files {
		if slices.ContainsFunc(rewrite.Includes(file.Text), func(include rewrite.Include) bool {
			return include.Name == header && include.Quoted
		}) {
			return true
		}
	}
	return false
}

// asksMacroOfOthers reports whether a condition of the user's files names a macro that neither these files
// nor the compiler define: an absent header could decide it.
func (s *SourceSet) asksMacroOfOthers() bool {
	var all strings.Builder
	for at, file := range s.Files {
		if s.isOfUser(at) {
			all.Write(file.Text)
			all.WriteString("\n")
		}
	}
	text := all.String()
	for _, m := range conditional.FindAllStringSubmatch(text, -1) {
		for _, name := range macroName.FindAllString(m[1], -1) {
			if name != "defined" && !strings.HasPrefix(name, "_") && !strings.HasPrefix(name, "CUDA") &&
				!strings.Contains(text, "#define "+name) {
				return true
			}
		}
	}
	return false
}

// isOfUser reports whether a file of the set is the user's, and not the code that calls it.
func (s *SourceSet) isOfUser(at string) bool {
	return strings.HasPrefix(at, OnDisk+"/") && (at != s.Main || !s.CallsUserFile())
}

// AbsentFlags returns the flags that find the stand-ins of a set, and of a newer standard, if it needs them.
func (s *SourceSet) AbsentFlags() []string {
	if s.newer {
		return append(s.absentFolders(), "-std=c++20")
	}
	return s.absentFolders()
}

func (s *SourceSet) absentFolders() []string {
	for at := range s.Files {
		if strings.HasPrefix(at, absentFolder) {
			return []string{"-I" + absentFolder}
		}
	}
	return nil
}

// defineCheck defines an unknown name in a stand-in as its argument if the user's files put it around calls
// of CUDA alone, as in CUDA_CHECK(cudaFree(p)): it only checks what they return.
func (s *SourceSet) defineCheck(message string) bool {
	m := undeclared.FindStringSubmatch(message)
	if m == nil {
		return false
	}
	name, around := m[1]+m[2], 0
	for at, file := range s.Files {
		if !s.isOfUser(at) {
			continue
		}
		of := func(argument string) int {
			return len(regexp.MustCompile(`\b`+name+`\b`+argument).FindAll(file.Text, -1))
		}
		found := of(`\s*\(\s*cuda\w+\s*\(`)
		if found != of(``) {
			return false
		}
		around += found
	}
	define := fmt.Sprintf("#define %s(call) (call)\n", name)
	for at, file := range s.Files {
		if strings.HasPrefix(at, absentFolder) && around > 0 && !strings.Contains(string(file.Text), define) {
			s.Files[at] = SourceFile{file.Name, append([]byte(define), file.Text...)}
			return true
		}
	}
	return false
}
