// Package backend is the port between the driver and the runners of implementations: the wire that driver and
// workers speak, and the interface that an adapter (cuda, pybridge) fills.
//
// A worker is a process. Descriptor 3 is one end of a Unix stream socket that carries JSON lines, descriptor
// 4 the shared memory that carries tensors; stdout and stderr are only a log.
package backend
