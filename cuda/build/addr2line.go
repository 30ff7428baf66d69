package build

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"triad/internal/subprocess"
)

// LineOfAddress asks addr2line for the source line of an address of a library; it is empty if addr2line is
// missing or does not know. For frames inlined from the emulator's own headers it returns the kernel's line.
func LineOfAddress(library string, offset uint64) (file string, line int) {
	out, err := RunTool(
		context.Background(),
		"addr2line",
		[]string{"-i", "-e", library, fmt.Sprintf("%#x", offset)},
	)
	if err != nil {
		return "", 0
	}
	for _, frame := range strings.Split(strings.TrimSpace(out), "\n") {
		frame, _, _ = strings.Cut(frame, " (discriminator")
		at := strings.LastIndexByte(frame, ':')
		if at < 0 {
			continue
		}
		n, err := strconv.Atoi(frame[at+1:])
		if err != nil || n == 0 {
			continue
		}
		name := frame[:at]
		if file == "" || strings.HasSuffix(name, ".cu") || strings.HasSuffix(name, ".cuh") {
			file, line = shortName(name), n
		}
		if strings.HasSuffix(name, ".cu") || strings.HasSuffix(name, ".cuh") {
			break
		}
	}
	return file, line
}

// RunTool runs one of the compiler's tools, and returns its output.
func RunTool(ctx context.Context, name string, args []string) (string, error) {
	return subprocess.Run(ctx, subprocess.Command{Path: name, Args: args, Deadline: 20 * time.Second})
}

// shortName returns the name of a source for messages. Debug information puts the build folder in front of
// relative names.
func shortName(name string) string {
	for _, mark := range []string{"/src/cuda/", "/src/" + OnDisk + "/"} {
		if i := strings.LastIndex(name, mark); i >= 0 {
			return strings.TrimPrefix(name[i+len("/src/"):], OnDisk)
		}
	}
	return name
}
