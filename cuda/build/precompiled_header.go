package build

import (
	"context"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"time"
)

// ownCall is the header with which the code begins that calls a user's kernel file.
const ownCall = "cuda/include/own_call.cuh"

// Shared builds what the libraries of kernel files have in common, the emulator and the precompiled header,
// and returns their folders in the cache. A worker that is given these builds neither.
func Shared(ctx context.Context, sources fs.FS, folder string) ([]string, error) {
	b := Builder{Sources: sources, Cache: folder}
	var err error
	if b.Compiler, err = FindHostCompiler(ctx); err != nil {
		return nil, err
	}
	emulator, err := b.Emulator(ctx)
	if err != nil {
		return nil, err
	}
	folders := []string{filepath.Dir(emulator.Path)}
	if b.Compiler.Clang { // it does not read the precompiled header
		return folders, nil
	}
	for _, several := range []bool{false, true} {
		if header, err := b.prelude(ctx, b.usualFlags(several)); err == nil {
			folders = append(folders, filepath.Dir(header))
		}
	}
	return folders, nil
}

// withPrelude returns the flags for a build of files. If the code begins with ownCall and the flags are only
// those of every such file, the compiler reads the precompiled header: most of the time of a small file goes
// into the headers. Without it, or if the compiler refuses it, the compiler reads the headers' text, with the
// same result.
func (b *Builder) withPrelude(ctx context.Context, files map[string][]byte, flags []string) []string {
	usual := b.usualFlags(slices.Contains(flags, alignedFlags[0]))
	if _, begins := files[ownCall]; !begins || b.Compiler.Clang || len(flags) < len(usual) ||
		!slices.Equal(flags[:len(usual)], usual) {
		return flags
	}
	if more := flags[len(usual):]; len(more) > 0 && (len(more) != 2 || more[0] != "-iquote") {
		return flags // a macro or another -O: the compiler would refuse the header
	}
	header, err := b.prelude(ctx, usual)
	if err != nil {
		return flags
	}
	flags = slices.Clone(flags)
	flags[slices.Index(flags, "cuda_runtime.h")] = header
	return flags
}

// prelude compiles ownCall with flags into the cache, once, and returns the path to include; the compiled
// header lies next to it.
func (b *Builder) prelude(ctx context.Context, flags []string) (string, error) {
	set, err := Gather(b.Sources, ownCall)
	if err != nil {
		return "", err
	}
	files, _, err := set.Rewritten()
	if err != nil {
		return "", err
	}
	emulator, err := b.EmulatorSources()
	if err != nil {
		return "", err
	}
	maps.Copy(emulator, files)
	key := "own_call-" + hashFiles(emulator, append(slices.Clone(flags), b.Compiler.Path, b.Compiler.Version))
	name := path.Base(ownCall)
	folder, _, _, err := cache{b.Cache}.get(ctx, key, func(folder string) (record, error) {
		began := time.Now()
		src, header := filepath.Join(folder, "src"), filepath.Join(folder, name)
		if err := writeTree(src, emulator); err != nil {
			return record{}, err
		}
		if err := os.WriteFile(header, emulator[ownCall], 0o644); err != nil {
			return record{}, err
		}
		args := slices.Concat(flags, []string{"-x", "c++-header", ownCall, "-o", header + ".gch"})
		log, err := compile(ctx, src, b.Compiler.Path, args)
		if err != nil {
			return record{}, err
		}
		return record{
			Compiler: b.Compiler.Version, Flags: flags, Seconds: time.Since(began).Seconds(),
			Log: tail(log, 8<<10),
		}, os.RemoveAll(src)
	})
	return filepath.Join(folder, name), err
}
