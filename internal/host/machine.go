package host

import (
	"os"
	"runtime"
	"strings"

	"golang.org/x/sys/unix"

	"triad/internal/record"
)

// Machine describes this computer by what affects results; it holds no name.
func Machine() record.Machine {
	m := record.Machine{OS: runtime.GOOS, Arch: runtime.GOARCH, Cores: runtime.NumCPU(), CPU: cpuModel()}
	var name unix.Utsname
	if unix.Uname(&name) == nil {
		m.Kernel = unix.ByteSliceToString(name.Release[:])
	}
	var info unix.Sysinfo_t
	if unix.Sysinfo(&info) == nil {
		m.MemoryBytes = int64(uint64(info.Totalram) * uint64(info.Unit))
	}
	return m
}

// cpuModel returns the processor's own name, "" if the system does not know it.
func cpuModel() string {
	text, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(text)) {
		if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

func GoVersion() string { return strings.TrimPrefix(runtime.Version(), "go") }
