package host

import (
	"testing"
	"testing/fstest"
)

// TestUsableMemory: the memory limit of a container is found in either version of control groups, whether the
// group's own folder is visible or not; the least of those around it applies.
func TestUsableMemory(t *testing.T) {
	const machine = 128 << 30
	for name, c := range map[string]struct {
		files map[string]string
		want  int64
	}{
		"nothing is said": {nil, machine},
		"version 2, in a container": {map[string]string{
			"proc/self/cgroup":         "0::/\n",
			"sys/fs/cgroup/memory.max": "17179869184\n",
		}, 16 << 30},
		"version 2, no limit": {map[string]string{
			"proc/self/cgroup":         "0::/\n",
			"sys/fs/cgroup/memory.max": "max\n",
		}, machine},
		"version 2, the limit of a group around it": {map[string]string{
			"proc/self/cgroup": "0::/user.slice/job/step\n",
			"sys/fs/cgroup/user.slice/job/step/memory.max": "max\n",
			"sys/fs/cgroup/user.slice/job/memory.max":      "8589934592\n",
			"sys/fs/cgroup/user.slice/memory.max":          "68719476736\n",
		}, 8 << 30},
		"version 2, a group that is not to be seen": {map[string]string{
			"proc/self/cgroup":         "0::/docker/0123\n",
			"sys/fs/cgroup/memory.max": "4294967296\n",
		}, 4 << 30},
		"version 1": {map[string]string{
			"proc/self/cgroup": "5:cpu,cpuacct:/docker/0123\n4:memory:/docker/0123\n0::/\n",
			"sys/fs/cgroup/memory/docker/0123/memory.limit_in_bytes": "2147483648\n",
			"sys/fs/cgroup/memory/memory.limit_in_bytes":             "9223372036854771712\n",
		}, 2 << 30},
		"version 1, no limit": {map[string]string{
			"proc/self/cgroup":                           "4:memory:/\n",
			"sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n",
		}, machine},
		"both versions": {map[string]string{
			"proc/self/cgroup":                           "4:memory:/\n0::/a\n",
			"sys/fs/cgroup/memory/memory.limit_in_bytes": "3221225472\n",
			"sys/fs/cgroup/unified/a/memory.max":         "1073741824\n",
		}, 1 << 30},
		"nonsense": {map[string]string{
			"proc/self/cgroup":             "4:memory\n0::../../etc\n\n",
			"sys/fs/cgroup/etc/memory.max": "-7\n", "sys/fs/cgroup/memory.max": "much\n",
		}, machine},
	} {
		files := fstest.MapFS{}
		for name, text := range c.files {
			files[name] = &fstest.MapFile{Data: []byte(text)}
		}
		if got := UsableMemory(files, machine); got != c.want {
			t.Errorf("%s: %d bytes, want %d", name, got, c.want)
		}
	}
}

// TestGarbageIsCollectedInTime: garbage is collected before half of the memory is taken, unless the user sets
// a limit.
func TestGarbageIsCollectedInTime(t *testing.T) {
	for given, want := range map[string]bool{"": true, "3GiB": false} {
		var limit int64
		CollectInTime(func(string) string { return given }, func(n int64) int64 { limit = n; return 0 })
		if set := limit > 0 && limit <= Machine().MemoryBytes/2; set != want {
			t.Errorf("GOMEMLIMIT=%q: the limit is %d of %d bytes", given, limit, Machine().MemoryBytes)
		}
	}
}
