package pybridge

import (
	"context"
	"path/filepath"
	"slices"
)

// CUDALibraries returns the folders of NVIDIA's libraries, including cuBLAS, that torch brings in the
// environment of the interpreter that Find chooses; none if Find finds no interpreter.
func (e *Environment) CUDALibraries(ctx context.Context) []string {
	i, err := e.Find(ctx)
	if err != nil {
		return nil
	}
	return cudaLibrariesBeside(i.Path)
}

// cudaLibrariesBeside looks in the packages of the installation that a python belongs to.
func cudaLibrariesBeside(python string) []string {
	prefix := filepath.Dir(filepath.Dir(python))
	var folders []string
	for _, packages := range []string{
		"lib/python3*/site-packages", "lib/python3*/dist-packages",
		"local/lib/python3*/dist-packages",
	} {
		found, _ := filepath.Glob(filepath.Join(prefix, packages, "nvidia", "*", "lib", "libcublas.so.*"))
		for _, file := range found {
			if folder := filepath.Dir(file); !slices.Contains(folders, folder) {
				folders = append(folders, folder)
			}
		}
	}
	return folders
}
