package participants

import (
	"testing"

	"triad/internal/opfolder"
	"triad/internal/ownfile/added"
)

// TestSandboxOf: a session says in what a stranger's files ran.
func TestSandboxOf(t *testing.T) {
	ofProblem := &OwnFiles{Folder: &opfolder.Folder{Problem: "problem.json"}}
	for _, c := range []struct {
		flags added.Flags
		mine  *OwnFiles
		want  string
	}{
		{added.Flags{}, nil, ""},
		{added.Flags{Add: []string{"a.cu"}}, &OwnFiles{}, ""},
		{added.Flags{Sandbox: true}, nil, "bubblewrap"},
		{added.Flags{Many: true}, nil, "bubblewrap"},
		{added.Flags{Many: true, NoSandbox: true}, nil, "none (--no-sandbox)"},
		{added.Flags{}, ofProblem, "bubblewrap"},
		{added.Flags{NoSandbox: true}, ofProblem, "none (--no-sandbox)"},
	} {
		if got := SandboxOf(&c.flags, c.mine); got != c.want {
			t.Errorf("%+v: %q, want %q", c.flags, got, c.want)
		}
	}
}
