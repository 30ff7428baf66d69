package host

import (
	"io/fs"
	"os"
	"path"
	"strconv"
	"strings"
)

// memoryLimit returns how many bytes of memory a container leaves to this process: the least limit among its
// control group and those around it, of version 2 (memory.max) or 1 (memory.limit_in_bytes); 0 where none is
// set or can be read. root is the file system. The runtime of Go itself reads the limit of the cores, cpu.max
// or cpu.cfs_quota_us, for GOMAXPROCS.
func memoryLimit(root fs.FS) int64 {
	text, err := fs.ReadFile(root, "proc/self/cgroup")
	if err != nil {
		return 0
	}
	least := int64(0)
	for line := range strings.Lines(string(text)) {
		// "0::/group" of version 2, "4:memory:/group" of version 1
		fields := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(fields) != 3 {
			continue
		}
		var bases []string
		var file string
		switch {
		case fields[0] == "0" && fields[1] == "":
			bases, file = []string{"sys/fs/cgroup", "sys/fs/cgroup/unified"}, "memory.max"
		case strings.Contains(","+fields[1]+",", ",memory,"):
			bases, file = []string{"sys/fs/cgroup/memory"}, "memory.limit_in_bytes"
		}
		for _, base := range bases {
			if limit := leastUpwards(root, base, fields[2], file); limit > 0 &&
				(least == 0 || limit < least) {
				least = limit
			}
		}
	}
	return least
}

// leastUpwards returns the least number in the files of a name in a group's folder and those around it; 0 if
// there is none. Inside a container the folder of the group is often invisible, and its limits are in the
// outermost folder.
func leastUpwards(root fs.FS, base, group, file string) int64 {
	least := int64(0)
	for group = path.Join("/", group); ; group = path.Dir(group) {
		text, err := fs.ReadFile(root, path.Join(base, group, file))
		if err == nil {
			limit, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64) // "max": none
			if err == nil && limit > 0 && (least == 0 || limit < least) {
				least = limit
			}
		}
		if group == "/" {
			return least
		}
	}
}

// CollectInTime makes Go collect garbage before this process holds half of the memory: a bench point of a
// billion elements has tens of gigabytes of truth, and twice that would be garbage by the time Go collects on
// its own. The user's GOMEMLIMIT takes precedence.
func CollectInTime(getenv func(string) string, limit func(int64) int64) {
	if bytes := UsableMemory(os.DirFS("/"), Machine().MemoryBytes); getenv("GOMEMLIMIT") == "" && bytes > 0 {
		limit(bytes / 2)
	}
}

// UsableMemory returns how many bytes of memory this process and its workers may take: the machine's, or what
// a container leaves of it.
func UsableMemory(root fs.FS, machine int64) int64 {
	if limit := memoryLimit(root); limit > 0 {
		return min(limit, machine)
	}
	return machine
}
