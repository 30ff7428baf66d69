package ownkernels

import (
	"fmt"
	"path/filepath"
	"regexp"
)

// importsModule matches the sentence about a module that no package of the running Python provides.
var importsModule = regexp.MustCompile(`^it imports (\w+), which is not in the Python`)

// nearModule returns advice about a module that a file cannot import and that lies in a folder near it, or ""
// if there is none.
func nearModule(path, sentence string) string {
	m := importsModule.FindStringSubmatch(sentence)
	if m == nil {
		return ""
	}
	folder := filepath.Dir(path)
	for _, pattern := range []string{"*", "../*", "../*/*", "../../*"} {
		for _, name := range []string{m[1] + ".py", m[1] + "/__init__.py"} {
			found, err := filepath.Glob(filepath.Join(quoted(folder), pattern, name))
			if err != nil || len(found) == 0 {
				continue
			}
			at := filepath.Dir(found[0])
			if name != m[1]+".py" {
				at = filepath.Dir(at)
			}
			return fmt.Sprintf("it imports %s, which lies in %s: begin the command with PYTHONPATH=%[2]s",
				m[1], at)
		}
	}
	return ""
}

// patternSign matches the special characters of a glob pattern.
var patternSign = regexp.MustCompile(`[*?\[\\]`)

// quoted returns a path as a glob pattern that matches only that path.
func quoted(path string) string { return patternSign.ReplaceAllString(path, `\$0`) }
