package added

import (
	"bufio"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"triad/internal/op"
	"triad/internal/opfolder"
	"triad/internal/ownfile"
	"triad/internal/userfile"
)

// Expand replaces the folders, patterns and lists of --add by files, and notes that there were any. A list,
// "-", is read from standard input, a file a line. A pattern stands for the .cu and .py files that it
// matches, a folder for those below it, sorted by path; a file that is in the list already is not added
// again. root is the folder with the files of another machine, "" for this one.
func (f *Flags) Expand(in io.Reader, root string) error {
	f.Root = root
	var all []string
	listed := false
	for _, text := range f.Add {
		files := []string{text}
		var err error
		if text == "-" {
			if listed {
				return op.Usagef("--add -: standard input is one list: name it once")
			}
			listed, f.Many = true, true
			files, err = listedFiles(in)
		} else if found, several, failed := matchedFiles(text); several || failed != nil {
			files, err, f.Many = withoutThose(found, all), failed, true
		}
		if err != nil {
			return err
		}
		all = append(all, files...)
	}
	f.Add, f.Stems = all, StemsOf(all)
	return nil
}

// listedFiles reads a list of files, one a line, as --add takes them.
func listedFiles(in io.Reader) ([]string, error) {
	var files []string
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		if line := strings.TrimSpace(lines.Text()); line != "" {
			files = append(files, line)
		}
	}
	if err := lines.Err(); err != nil {
		return nil, op.Usagef("--add -: read line %d of the list on standard input: %w", len(files)+1, err)
	}
	if len(files) == 0 {
		return nil, op.Usagef("--add -: the list on standard input names no file: want a file a line")
	}
	return files, nil
}

// matchedFiles returns the files that a folder or a pattern stands for; several is false if text is neither.
// A link counts if it leads to a file below the pattern's own folder.
func matchedFiles(text string) (files []string, several bool, err error) {
	pattern, suffix := text, ""
	if r, err := ownfile.ParseRequest(text); err == nil {
		pattern, suffix = r.Path, strings.TrimPrefix(text, r.Path)
	}
	info, err := os.Stat(pattern)
	switch {
	case err == nil && info.IsDir():
		files, err = filesBelow(pattern)
	case err == nil || !strings.ContainsAny(pattern, "*?[{"):
		return nil, false, nil
	default:
		files, err = doublestar.FilepathGlob(pattern, doublestar.WithFilesOnly(),
			doublestar.WithFailOnIOErrors(), doublestar.WithNoFollow())
		base, _ := doublestar.SplitPattern(pattern)
		below := userfile.Within(base)
		files = slices.DeleteFunc(files, func(path string) bool {
			return !userfile.IsRegular(path) || !below.Hold(path)
		})
	}
	if err != nil {
		return nil, true, op.Usagef("--add %s: %w", text, err)
	}
	files = slices.DeleteFunc(files, func(path string) bool { return !IsKernelFile(path) })
	if len(files) == 0 {
		return nil, true, op.Usagef("--add %s: no .cu and no .py file is there; quote a pattern, so that "+
			"the shell leaves it as it is", text)
	}
	slices.Sort(files)
	for i := range files {
		files[i] += suffix
	}
	return files, true, nil
}

// filesBelow returns the files of a folder and its subfolders, except hidden ones and operators of the user's
// own. Links are not followed.
func filesBelow(folder string) ([]string, error) {
	var files []string
	err := filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return fmt.Errorf("list the folder: %w", err)
		case path != folder && strings.HasPrefix(d.Name(), ".") && d.IsDir():
			return filepath.SkipDir
		case d.Type().IsRegular() && (filepath.Dir(path) == filepath.Clean(folder) || !opfolder.Holds(path)):
			files = append(files, path)
		}
		return nil
	})
	return files, err
}

// IsKernelFile reports whether a path ends as a file that can be judged does; a .cuh is only a header.
func IsKernelFile(path string) bool {
	return !strings.HasPrefix(filepath.Base(path), ".") &&
		slices.Contains([]string{".cu", ".py"}, filepath.Ext(path))
}

// withoutThose returns the files without those that are in there, by whatever path.
func withoutThose(files, there []string) []string {
	seen := map[string]bool{}
	for _, path := range there {
		seen[Absolute(path)] = true
	}
	return slices.DeleteFunc(files, func(path string) bool { return seen[Absolute(path)] })
}

// Absolute returns an absolute path, or the path itself if that fails.
func Absolute(path string) string {
	if abs, err := filepath.Abs(path); err == nil {
		return abs
	}
	return path
}
