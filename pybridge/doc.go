// Package pybridge finds or makes a Python environment with torch and Triton, and starts the Python workers
// in it. A folder holds what one kind of process runs:
//
//	worker       runs rows of Triton and torch for the driver, and times them
//	operators    what operator files import: implementation.py, and what families share
//	interpreter  corrections of Triton's interpreter, for a machine without a GPU
//	truth        the second truth, and error bounds composed from a reference
//	user_files   facts about a user's file by Python's parser, its import, and stand-ins for a GPU
//	problems     describes published problems, calls their submissions, and runs their checks
//	peers        kernels of other projects
//	fleet        the process that hands tasks to a Ray cluster
//
// In a process these folders are on sys.path together (worker/bridge_folders.py): operator files and users'
// files import what they need by its plain name, such as implementation.
//
// Two folders are for other programs: python is the package that people install, native the library in it.
// Tests of all of them are in tests.
package pybridge
