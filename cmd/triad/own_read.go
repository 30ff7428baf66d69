package main

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"triad/cuda"
	"triad/cuda/rewrite"
	"triad/internal/op"
	"triad/internal/own"
)

// readOwn reads one file, matches its functions and writes the code that calls them.
func readOwn(text string, spec *op.Spec, passes []op.Pass, options own.Options, make maker) (*ownFile, error) {
	r, err := own.ParseRequest(text)
	if err != nil {
		return nil, err
	}
	path, err := filepath.Abs(r.Path)
	if err != nil {
		return nil, fmt.Errorf("resolve %s: %w", r.Path, err)
	}
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, usage("--add %s: cannot read the file: %v", text, errors.Unwrap(err))
	}
	file := &ownFile{path: path, name: nameOf(r)}
	if strings.ContainsAny(file.name, " \t\"\\,") {
		return nil, usage("--add %s: the file's name becomes the name of the implementation: rename it so that it has no blanks, commas or quotes", text)
	}
	parsed := own.ReadCUDA(string(content))
	file.launches, file.takesShared = parsed.LaunchLines(), parsed.TakesShared()
	file.unsynchronised = parsed.Shares && !parsed.Waits
	if filepath.Ext(path) == ".py" {
		parsed = own.ReadPython(string(content))
		file.interpreted = !make.gpu && importsTriton.Match(content)
	}
	bindings, err := own.Bind(parsed, r, spec, passes, options)
	if err != nil {
		return nil, usage("--add %s: %w", text, err)
	}
	for _, b := range bindings {
		if !slices.Contains(passes, b.Pass) {
			continue
		}
		file.matched = append(file.matched, b.Describe())
		file.parameters = append(file.parameters, b.Parameters()...)
		file.covers.add(b.Pass, b.DTypes(), b.Pins(), b.Equal())
	}
	if filepath.Ext(path) == ".py" {
		return file, file.writePython(spec.Name, fmt.Sprintf("%s %+v", text, options), own.PythonFile(path, file.name, bindings), make)
	}
	file.tellFlags(options.Flags, make.gpu)
	code := func(include string) string {
		return cuda.FlagsLine(options.Flags) + own.CUDA(include, file.name, bindings)
	}
	return file, file.write(code, make)
}

// importsTriton finds a line that imports Triton, alone or among others.
var importsTriton = regexp.MustCompile(`(?m)^[ \t]*(import|from)\b.*\btriton\b`)

// tellFlags adds which flags the file is compiled with.
func (f *ownFile) tellFlags(flags []string, gpu bool) {
	if len(flags) == 0 {
		return
	}
	text := "compiled with " + strings.Join(flags, " ")
	if emulated, _ := cuda.CheckFlags(flags); !gpu && len(emulated) < len(flags) {
		without := slices.DeleteFunc(slices.Clone(flags), func(word string) bool { return slices.Contains(emulated, word) })
		text = "compiled for the emulator, where these flags say nothing: " + strings.Join(without, " ")
		if len(emulated) > 0 {
			text = "compiled with " + strings.Join(emulated, " ") + "; in the emulator these flags say nothing: " + strings.Join(without, " ")
		}
	}
	f.matched = append(f.matched, text)
}

// writePython puts the operator file that calls a Python file where the worker finds it: a folder of the cache named by what was asked for, so that
// the next version of the file is looked for in the same one.
func (f *ownFile) writePython(operator, request, code string, make maker) error {
	hash := sha256.New()
	hash.Write([]byte(strings.ReplaceAll(code, f.path, "")))
	contentHash(hash.Write, f.path, map[string]bool{})
	f.source = hex.EncodeToString(hash.Sum(nil)[:16])
	key := sha256.Sum256([]byte(f.path + "\x00" + operator + "\x00" + request))
	folder := filepath.Join(make.cache, "own", hex.EncodeToString(key[:8]))
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return fmt.Errorf("write the code that calls %s: %w", f.name, err)
	}
	f.shim = filepath.Join(folder, operator+".py")
	if err := replaceFile(f.shim, code); err != nil {
		return fmt.Errorf("write the code that calls %s: %w", f.name, err)
	}
	f.adapter = make.python(folder)
	f.adapter.BackendName, f.adapter.FamilyNames = f.name, []string{"mine"}
	f.adapter.Slot, f.adapter.Slots = func(string) string { return "mine" }, nil
	return nil
}

// write puts the shim where the builder finds it: a folder of the cache named by what it says.
func (f *ownFile) write(code func(include string) string, make maker) error {
	hash := sha256.New()
	hash.Write([]byte(code("")))
	contentHash(hash.Write, f.path, map[string]bool{})
	f.source = hex.EncodeToString(hash.Sum(nil)[:16])
	key := sha256.Sum256([]byte(f.path + "\x00" + code("")))
	folder := filepath.Join(make.cache, "own", hex.EncodeToString(key[:8]))
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return fmt.Errorf("write the code that calls %s: %w", f.name, err)
	}
	// The builder lays files out as they lie on disk, so that a relative path finds the file there too.
	include, err := filepath.Rel(folder, f.path)
	if err != nil {
		return fmt.Errorf("write the code that calls %s: %w", f.name, err)
	}
	stem := strings.TrimSuffix(filepath.Base(f.path), filepath.Ext(f.path))
	f.shim = filepath.Join(folder, stem+".triad.cu")
	if err := replaceFile(f.shim, code(filepath.ToSlash(include))); err != nil {
		return fmt.Errorf("write the code that calls %s: %w", f.name, err)
	}
	f.adapter = withSpec(make.cuda(), make.spec)
	f.adapter.BackendName, f.adapter.FamilyNames = f.name, []string{"mine"}
	f.adapter.Slot = func(string) string { return "mine" }
	f.adapter.Names = func(string) string { return f.shim }
	return nil
}

// replaceFile writes a file whole or not at all.
func replaceFile(path, text string) error {
	partial, err := os.CreateTemp(filepath.Dir(path), ".partial-")
	if err != nil {
		return err
	}
	defer os.Remove(partial.Name())
	_, err = partial.WriteString(text)
	if err = errors.Join(err, partial.Close()); err != nil {
		return err
	}
	return os.Rename(partial.Name(), path)
}

// contentHash hashes a file and what it includes with quotes, wherever they lie.
func contentHash(write func([]byte) (int, error), path string, seen map[string]bool) {
	if seen[path] {
		return
	}
	seen[path] = true
	text, err := os.ReadFile(path)
	if err != nil {
		return // it may be one of the compiler's, or lie behind an #if
	}
	_, _ = write(fmt.Appendf(nil, "%d:", len(text)))
	_, _ = write(text)
	if filepath.Ext(path) == ".py" {
		return
	}
	for _, include := range rewrite.Includes(text) {
		if !filepath.IsAbs(include) {
			include = filepath.Join(filepath.Dir(path), include)
		}
		contentHash(write, include, seen)
	}
}
