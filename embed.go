// Package triad embeds sources in the binary: the kernels, the emulator they run on without a GPU, and the
// Python side. Their readers get an fs.FS.
package triad

import (
	"embed"
	"strings"
)

// Files are laid out as in the repository.
//
//go:embed cuda/abi.h cuda/kernels cuda/include cuda/runtime cuda/emulator
//go:embed triton/*.py pybridge/fleet/*.py pybridge/interpreter/*.py pybridge/operators/*.py
//go:embed pybridge/peers/*.py pybridge/problems/*.py pybridge/truth/*.py pybridge/user_files/*.py
//go:embed pybridge/worker/*.py
//go:embed requirements*.txt
var Files embed.FS

//go:embed VERSION
var version string

// Version is the version of the product: that of the program, of its wheels and of the newest entry in
// CHANGELOG.md.
var Version = strings.TrimSpace(version)
