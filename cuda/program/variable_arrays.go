package program

import (
	"fmt"
	"regexp"
	"strconv"

	"triad/cuda/build"
	"triad/cuda/rewrite"
)

// variableArray matches a compiler's warning under -Wvla: an array whose size is not constant. Both compilers
// support them in C++; nvcc only in functions of the host.
var variableArray = regexp.MustCompile(
	`(?m)^([^:\n]+):(\d+):\d+: warning: [^\n]*variable length array[^\n]*\[-Wvla`)

// arrayOnDevice returns an error for the first such array in a function of the device; nil if there is none.
// The log is that of a build that succeeded.
func arrayOnDevice(s *build.SourceSet, log string) error {
	for _, m := range variableArray.FindAllStringSubmatch(log, -1) {
		line, _ := strconv.Atoi(m[2])
		for _, f := range s.Files {
			if f.Name != m[1] {
				continue
			}
			name := rewrite.OnDevice(f.Text, line)
			if name == "" {
				continue
			}
			return &build.Error{File: f.Name, Line: line, Message: fmt.Sprintf("the size of an array in %s "+
				"is no constant, and nvcc takes none such in functions of the device: use a template "+
				"argument, a constexpr, or memory of the launch", name)}
		}
	}
	return nil
}
