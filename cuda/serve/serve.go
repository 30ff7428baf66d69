package serve

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"runtime"
	"slices"
	"syscall"

	"triad/cuda/build"
	"triad/internal/backend"
	"triad/internal/catalog"
	"triad/internal/hosttrouble"
	"triad/internal/op"
	"triad/internal/subprocess"
	"triad/internal/userfile"
)

// Catalog serves a driver's requests with a device, the operators of the catalog and, if spec is a path,
// the operator that it describes: conn is the stream socket, memory the shared memory with all tensors. It
// returns after "bye", and after a reply that says that the process is no longer clean. When the driver
// closes conn the process ends at once, with all that it started.
func Catalog(ctx context.Context, device Device, spec string, conn, memory *os.File) error {
	own, err := ownSpec(spec)
	if err != nil {
		return err
	}
	subprocess.KeepGroup()
	endWithDriver(conn)
	return Serve(ctx, device, func(name string) (*op.Spec, error) {
		if own != nil && own.Name == name {
			return own, nil
		}
		return catalogSpec(name)
	}, conn, memory)
}

// catalogSpec finds an operator of the catalog. A worker knows an operator's spec, never its truth.
func catalogSpec(name string) (*op.Spec, error) {
	o, err := catalog.Get(name)
	if err != nil {
		return nil, err
	}
	return o.Spec, nil
}

// ownSpec reads the spec of an operator outside the catalog; nil if there is none.
func ownSpec(path string) (*op.Spec, error) {
	if path == "" {
		return nil, nil
	}
	text, err := userfile.Read(path)
	if err != nil {
		return nil, fmt.Errorf("read the spec: %w", err)
	}
	return op.LoadOwn(path, text)
}

// Serve serves a driver's requests with a device, until the context ends or the driver is gone; see Catalog.
// specs finds an operator by its name.
func Serve(ctx context.Context, device Device, specs func(name string) (*op.Spec, error), conn,
	memory *os.File,
) error {
	runtime.LockOSThread() // a GPU's context belongs to the thread
	defer runtime.UnlockOSThread()
	s := &server{
		device: device, specs: specs, loaded: map[string]backend.LoadReply{},
		kernels: map[string][]*kernel{}, file: memory, libraryFile: build.LibraryFileOf(os.Getenv),
	}
	defer s.unmap()
	requests := bufio.NewReaderSize(conn, backend.MaxLine)
	last := int64(0)
	for {
		line, err := requests.ReadSlice('\n')
		if errors.Is(err, io.EOF) && len(line) == 0 {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read a request: %w", err)
		}
		var request backend.Request
		if err := json.Unmarshal(line, &request); err != nil {
			return fmt.Errorf("read a request: %w", err)
		}
		if request.ID <= last {
			return fmt.Errorf("read a request: id %d after %d, want them to rise", request.ID, last)
		}
		last = request.ID
		result, end, err := s.answer(ctx, request)
		if err := reply(conn, request.ID, result, err); err != nil {
			return err
		}
		if end || ctx.Err() != nil {
			return nil
		}
	}
}

// reply writes one line.
func reply(conn io.Writer, id int64, result any, failure error) error {
	r := backend.Reply{ID: id}
	if failure != nil {
		r.Error = failure.Error()
	} else {
		text, err := json.Marshal(result)
		if err != nil {
			return fmt.Errorf("encode the reply to request %d: %w", id, err)
		}
		r.Result = text
	}
	line, err := json.Marshal(r)
	if err == nil && len(line) >= backend.MaxLine {
		line, err = json.Marshal(backend.Reply{
			ID:    id,
			Error: fmt.Sprintf("the reply has %d bytes, at most %d", len(line), backend.MaxLine),
		})
	}
	if err != nil {
		return fmt.Errorf("encode the reply to request %d: %w", id, err)
	}
	if _, err := conn.Write(append(line, '\n')); err != nil {
		return fmt.Errorf("write the reply to request %d: %w", id, err)
	}
	return nil
}

// server is one worker: a device, the libraries it has loaded and the shared memory.
type server struct {
	device  Device
	specs   func(string) (*op.Spec, error)
	loaded  map[string]backend.LoadReply // by the name in the request: a library is opened once
	kernels map[string][]*kernel         // by operator and implementation
	file    *os.File
	memory  []byte
	// libraryFile receives the first library that is built; nil if nobody wants it, or it was sent.
	libraryFile *os.File
	unsealed    error     // why the memory file could not be sealed: nothing is loaded
	scratch     [2][]byte // see piece
	clock       Clock     // nil until something is timed
	// to, from: of the copy that begins a measurement with Others, by the number of devices of a call
	others     map[int][]Buffer
	candidates map[int64]*candidate
}

// answer serves a request; end reports that the worker ends after the reply.
func (s *server) answer(ctx context.Context, r backend.Request) (result any, end bool, err error) {
	if s.memory == nil && r.Do != backend.DoHello && r.Do != backend.DoBye {
		return nil, false, fmt.Errorf("request %s before hello", r.Do)
	}
	switch {
	case r.Do == backend.DoHello && r.Hello != nil:
		result, err = s.hello(*r.Hello)
	case r.Do == backend.DoLoad && r.Load != nil:
		result, err = s.load(ctx, r.Load.Op)
	case r.Do == backend.DoRun && r.Run != nil:
		var run backend.RunReply
		run, err = s.run(*r.Run)
		result, end = run, run.Fatal
	case r.Do == backend.DoMeasure && r.Measure != nil:
		result, end, err = s.measure(ctx, *r.Measure)
	case r.Do == backend.DoProbe:
		result, err = struct{}{}, s.device.Probe()
	case r.Do == backend.DoBye:
		result, end = struct{}{}, true
	default:
		err = fmt.Errorf("request %q: unknown, or without its arguments", r.Do)
	}
	return result, end, err
}

func (s *server) hello(args backend.HelloArgs) (backend.HelloReply, error) {
	reply := backend.HelloReply{
		Protocol: backend.Protocol, Device: s.device.Name(),
		Versions: s.device.Versions(), PID: os.Getpid(),
	}
	if s.memory != nil || args.Protocol != backend.Protocol {
		return reply, nil // the driver reports a mismatch of versions
	}
	info, err := s.file.Stat()
	if err != nil || args.MemoryBytes < 1 || info.Size() < args.MemoryBytes {
		return reply, fmt.Errorf("map the shared memory: %d bytes announced, the file has %d (%v)",
			args.MemoryBytes, info.Size(), err)
	}
	if s.memory, err = syscall.Mmap(int(s.file.Fd()), 0, int(args.MemoryBytes),
		syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED); err != nil {
		return reply, fmt.Errorf("map %d bytes of shared memory: %w", args.MemoryBytes, err)
	}
	return reply, nil
}

func (s *server) unmap() {
	if s.memory != nil {
		_ = syscall.Munmap(s.memory)
		s.memory = nil
	}
}

// load builds and opens the library of an operator, or of the .cu that file names. Failures of the sources or
// the toolchain are part of the reply.
func (s *server) load(ctx context.Context, file string) (backend.LoadReply, error) {
	if reply, known := s.loaded[file]; known {
		return reply, nil
	}
	library, all, err := s.open(ctx, file)
	var mistake *build.Error
	var missing *backend.Unavailable
	trouble := hosttrouble.Of(err)
	failed := backend.LoadFailure{Implementation: "cuda", Status: op.StatusBuildFail}
	switch {
	case trouble != nil:
		failed.Status, failed.Message, failed.Log = op.StatusInterrupted, trouble.Sentence, trouble.Log
	case errors.As(err, &mistake):
		failed.Message, failed.Log = mistake.Error(), mistake.Log
	case errors.As(err, &missing):
		failed.Status, failed.Message = op.StatusUnavailable, missing.Sentence
	case errors.Is(err, fs.ErrNotExist):
		failed.Status, failed.Message = op.StatusUnavailable, fmt.Sprintf("there is no kernel file %s",
			build.KernelFile(file))
	case err != nil:
		return backend.LoadReply{}, err
	default:
		reply := backend.LoadReply{Build: &library.Facts}
		for _, k := range all {
			k.Device, k.Source = s.device.Name(), library.Source
			if lacking, lacks := s.lacking(k); lacks {
				if !slices.Contains(reply.Failed, lacking) { // once for both passes
					reply.Failed = append(reply.Failed, lacking)
				}
				continue
			}
			reply.Implementations = append(reply.Implementations, k.Implementation)
			name := k.Op + " " + k.Name
			s.kernels[name] = append(s.kernels[name], k)
		}
		s.loaded[file] = reply
		return reply, nil
	}
	return backend.LoadReply{
		Implementations: []backend.Implementation{},
		Failed:          []backend.LoadFailure{failed},
	}, nil
}

// lacking reports the kernels that need more devices than this worker has.
func (s *server) lacking(k *kernel) (f backend.LoadFailure, lacks bool) {
	spread, can := s.device.(Spread)
	if !can || k.devices < 2 {
		return f, false
	}
	devices, why := spread.Spread()
	return backend.LoadFailure{
		Implementation: k.Name, Status: op.StatusUnavailable,
		Message: fmt.Sprintf("%s needs %d GPUs that reach each other's memory: %s", k.Name, k.devices, why),
	}, devices < k.devices
}

// open returns the kernels of a file. A library that cannot be loaded or registers nonsense is its author's
// mistake.
func (s *server) open(ctx context.Context, file string) (build.Library, []*kernel, error) {
	library, err := s.device.Library(ctx, file)
	if s.libraryFile != nil {
		s.unsealed = build.WriteLibrary(s.libraryFile, library, err == nil)
		s.libraryFile = nil
	}
	if err == nil {
		err = s.unsealed
	}
	if err != nil {
		return build.Library{}, nil, err
	}
	mistake := func(err error) error {
		return &build.Error{File: build.KernelFile(file), Message: err.Error(), Log: library.Facts.LogTail}
	}
	all, err := s.registered(library)
	if err != nil {
		return build.Library{}, nil, mistake(fmt.Errorf("%s: %w", build.KernelFile(file), err))
	}
	for _, k := range all {
		if wanted := build.KernelFile(file) == "cuda/kernels/"+file+".cu"; wanted && k.Op != file {
			return build.Library{}, nil, mistake(fmt.Errorf("%s registers %s for the operator %s, want %s",
				build.KernelFile(file), k.Name, k.Op, file))
		}
	}
	return library, all, nil
}

// registered lists the kernels of a file's library, including its synchronous part.
func (s *server) registered(library build.Library) ([]*kernel, error) {
	var all []*kernel
	for _, path := range []string{library.Second, library.Path} {
		if path == "" {
			continue
		}
		handle, err := open(path, false)
		if err != nil {
			return nil, err
		}
		more, err := kernels(handle, s.specs)
		if err != nil {
			return nil, err
		}
		all = append(all, more...)
	}
	return all, nil
}

// find returns the registration that a run asks for.
func (s *server) find(r backend.RunArgs) (*kernel, error) {
	for _, k := range s.kernels[r.Op+" "+r.Implementation] {
		if k.Pass != r.Pass || r.Contract != "" && k.Contract != r.Contract {
			continue
		}
		for _, dtype := range k.DTypes {
			if dtype == r.DType {
				return k, nil
			}
		}
	}
	return nil, fmt.Errorf("run %s %s, %s in %s under contract %q: nothing loaded is registered for it", r.Op,
		r.Implementation, r.Pass, r.DType, r.Contract)
}

// storage returns the part of the shared memory that holds a tensor.
func (s *server) storage(r backend.TensorRef) ([]byte, error) {
	if r.Offset < 0 || r.Bytes < 0 || r.Offset > int64(len(s.memory)) ||
		r.Bytes > int64(len(s.memory))-r.Offset {
		return nil, fmt.Errorf("tensor %s: bytes %d+%d lie outside the shared memory of %d", r.Name, r.Offset,
			r.Bytes, len(s.memory))
	}
	return s.memory[r.Offset : r.Offset+r.Bytes], nil
}
