package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"

	"triad/internal/backend"
	"triad/internal/catalog"
	"triad/internal/op"
	"triad/internal/own"
	"triad/internal/panics"
	"triad/internal/run"
	"triad/internal/worker"
)

// openFolder reads an operator of the user's own.
func openFolder(path string) (*catalog.Operator, error) {
	f, err := own.OpenFolder(path)
	if err != nil {
		return nil, err
	}
	return &catalog.Operator{Spec: f.Spec, Reference: &own.Reference{Folder: f}}, nil
}

// operatorNamed is the operator of the catalog called name, or the one in the folder of that path. Where a folder of the name lies here, the error
// says how it is named, and of a file how it is judged.
func operatorNamed(name string) (*catalog.Operator, error) {
	if own.IsFile(name) {
		return nil, own.FileForOperator(name)
	}
	if own.IsFolder(name) {
		return openFolder(name)
	}
	o, err := catalog.Get(name)
	var u *op.UsageError
	if errors.As(err, &u) {
		if info, statErr := os.Stat(name); statErr == nil && info.IsDir() {
			return nil, usage("%v; the folder of that name is ./%s", err, name)
		}
	}
	return o, err
}

// folderOf is the folder of a request's operator; nil where it is of the catalog.
func folderOf(request *run.Request) *own.Folder {
	for _, o := range request.Operators {
		if r, ok := o.Reference.(*own.Reference); ok {
			return r.Folder
		}
	}
	return nil
}

// folderBackends are the adapters of what a folder registers: kernels of its .cu, rows of its .py.
func (a *app) folderBackends(f *own.Folder, g *gpu, e environmentFlags, o worker.Options) ([]backend.Backend, error) {
	make, err := a.maker(g, e, o)
	if err != nil {
		return nil, err
	}
	var all []backend.Backend
	if f.Registers {
		kernels := withSpec(make.cuda(), f.TOML)
		kernels.Names = func(string) string { return f.CUDA }
		all = append(all, kernels)
	}
	if f.Rows {
		all = append(all, make.python(f.Dir))
	}
	return all, nil
}

// truthOf gives a folder's operator the process that computes its truth.
func (a *app) truthOf(ctx context.Context, operator *catalog.Operator, f *own.Folder, make maker) *worker.Adapter {
	truth := make.truth(f.Dir)
	operator.Reference = &own.Reference{Folder: f, Backend: truth, Context: ctx}
	// Torch is imported while kernels are built; whoever asks for a truth learns what went wrong.
	panics.Go(func() { _, _, _ = truth.Load(ctx, f.Spec.Name) }, a.broke)
	return truth
}

// withSpec lets a worker know an operator that is not of the catalog.
func withSpec(adapter *worker.Adapter, spec string) *worker.Adapter {
	if spec == "" {
		return adapter
	}
	start := adapter.Command
	adapter.Command = func(ctx context.Context) (worker.Command, error) {
		c, err := start(ctx)
		if err == nil {
			c.Args = append(c.Args, "--spec", spec)
		}
		return c, err
	}
	return adapter
}

// hashOf is a hash of the contents of files.
func hashOf(paths ...string) string {
	hash := sha256.New()
	for _, path := range paths {
		contentHash(hash.Write, path, map[string]bool{})
	}
	return hex.EncodeToString(hash.Sum(nil)[:8])
}
