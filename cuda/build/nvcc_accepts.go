package build

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"time"

	"triad/internal/subprocess"
)

// acceptLimit is nvcc's time limit for one file.
const acceptLimit = 2 * time.Minute

// Accepts reports whether nvcc compiles a user's file unchanged, with its flags: what the emulator's compiler
// refuses may still be CUDA.
func (n NVCC) Accepts(ctx context.Context, file string, flags []string) bool {
	folder, err := os.MkdirTemp("", "triad-nvcc-")
	if err != nil {
		return false
	}
	defer os.RemoveAll(folder)
	args := []string{"-x", "cu", "-c", "-w", "-o", filepath.Join(folder, "file.o")}
	standard := func(f string) bool { return len(f) > 5 && f[:5] == "-std=" }
	if !slices.ContainsFunc(flags, standard) {
		args = append(args, "-std=c++17")
	}
	_, err = subprocess.Run(ctx, subprocess.Command{
		Path: n.Path, Args: slices.Concat(args, flags, []string{file}), Dir: filepath.Dir(file),
		Deadline: acceptLimit,
	})
	return err == nil
}
