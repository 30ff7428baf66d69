// Package newoperator makes the files of a new operator in a checkout from the template of a family: its
// folder in internal/catalog, its CUDA file, its Python file, and the generated list of imports that links
// its truth. A family adds its template as families/<family>.txtar, whose files have OPERATOR for the
// operator's name.
package newoperator

import (
	"embed"
	"errors"
	"fmt"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rogpeppe/go-internal/txtar"

	"triad/internal/op"
)

//go:embed families/*.txtar
var families embed.FS

const placeholder = "OPERATOR"

// Families lists the families that have a template, by name.
func Families() []string {
	entries, _ := families.ReadDir("families")
	var names []string
	for _, entry := range entries {
		names = append(names, strings.TrimSuffix(entry.Name(), ".txtar"))
	}
	return names
}

// Files returns the files of a new operator of a family, by their paths in the repository, in the template's
// order. An unknown family is an *op.UsageError.
func Files(name, family string) ([]txtar.File, error) {
	if !slices.Contains(Families(), family) {
		return nil, usage("unknown family %q: want one of %s", family, strings.Join(Families(), ", "))
	}
	text, err := families.ReadFile("families/" + family + ".txtar")
	if err != nil {
		return nil, fmt.Errorf("read the template of %s: %w", family, err)
	}
	archive := txtar.Parse([]byte(strings.ReplaceAll(string(text), placeholder, name)))
	if len(archive.Files) == 0 {
		return nil, fmt.Errorf("read the template of %s: it has no files", family)
	}
	return archive.Files, nil
}

// Create makes the files of an operator in the checkout at root and adds it to the list of imports. It
// returns the paths of the new files, relative to root. If anything of the operator exists already it changes
// nothing and the error is an *op.UsageError.
func Create(root, name, family string) ([]string, error) {
	if err := checkName(name); err != nil {
		return nil, err
	}
	files, err := Files(name, family)
	if err != nil {
		return nil, err
	}
	taken := []string{path.Join("internal/catalog", name)}
	for _, file := range files {
		taken = append(taken, file.Name)
	}
	for _, at := range taken {
		if _, err := os.Lstat(filepath.Join(root, at)); !errors.Is(err, fs.ErrNotExist) {
			return nil, usage("%s is there already: nothing was changed", at)
		}
	}
	var made []string
	for _, file := range files {
		made = append(made, file.Name)
		err = writeNew(filepath.Join(root, file.Name), file.Data)
		if err != nil {
			break
		}
	}
	if err == nil {
		err = UpdateImportList(root)
	}
	if err != nil {
		for _, file := range made {
			_ = os.Remove(filepath.Join(root, file))
		}
		_ = os.Remove(filepath.Join(root, "internal/catalog", name))
		return nil, fmt.Errorf("make the files of %s: %w", name, err)
	}
	return made, nil
}

// checkName refuses a name that cannot be that of an operator and of its Go package.
func checkName(name string) error {
	if err := op.CheckOperatorName(name); err != nil {
		return usage("%v, such as my_norm", err)
	}
	// The go tool skips testdata and vendor, and lets few import internal; a package main cannot be imported.
	if slices.Contains([]string{"internal", "main", "testdata", "vendor"}, name) ||
		strings.HasSuffix(name, "_test") || token.IsKeyword(name) {
		return usage("name %q: Go has a meaning of its own for a package of that name", name)
	}
	return nil
}

func writeNew(file string, text []byte) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	return errors.Join(err, f.Close())
}

func usage(format string, a ...any) error { return &op.UsageError{Message: fmt.Sprintf(format, a...)} }
