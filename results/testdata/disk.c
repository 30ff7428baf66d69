// Preloaded into a process, it writes down what that process does to the files whose path begins with
// TRIAD_DISK_PATH, in the order in which it does it, at the end of the file TRIAD_DISK_LOG. A test then makes of
// it what a disk may hold after its power was cut. One record: kind, length of the name, length of the data,
// offset (little-endian, 1 + 3 + 4 + 8 bytes), name, data. Kinds: O opened and made, W written, T cut to the
// offset, S synced, U removed.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

enum { most_files = 4096, longest_name = 512 };
static char names[most_files][longest_name]; // by descriptor; "" where it is none of ours
static pthread_mutex_t order = PTHREAD_MUTEX_INITIALIZER;

static const char *path_of(int fd) { return fd >= 0 && fd < most_files ? names[fd] : ""; }

static int ours(const char *path) {
	const char *begin = getenv("TRIAD_DISK_PATH");
	if (!begin || !*begin || strlen(path) >= longest_name) {
		return 0;
	}
	size_t folder = strrchr(begin, '/') - begin; // a sync of the folder makes names in it safe
	int is_folder = strlen(path) == folder && strncmp(path, begin, folder) == 0;
	return is_folder || strncmp(path, begin, strlen(begin)) == 0;
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

static void note(char kind, const char *name, int64_t offset, const void *data, uint32_t length) {
	static int log_file = -1;
	if (log_file < 0) {
		log_file = REAL(open)(getenv("TRIAD_DISK_LOG"), O_WRONLY | O_APPEND | O_CLOEXEC);
	}
	struct { char kind; uint8_t name_length[3]; uint32_t length; int64_t offset; } head = {kind, {0}, length, offset};
	uint32_t name_length = strlen(name);
	memcpy(head.name_length, &name_length, 3);
	struct iovec parts[3] = {{&head, sizeof head}, {(void *)name, name_length}, {(void *)data, length}};
	if (log_file < 0 || writev(log_file, parts, 3) != (ssize_t)(sizeof head + name_length + length)) {
		abort(); // a log with a gap proves nothing
	}
}

static int opened(int fd, const char *path, int made) {
	if (fd >= 0 && fd < most_files) {
		names[fd][0] = 0;
		if (ours(path)) {
			strcpy(names[fd], path);
			if (made) {
				note('O', path, 0, "", 0);
			}
		}
	}
	return fd;
}

static int open_with(__typeof__(&open) real, const char *path, int flags, mode_t mode) {
	struct stat info;
	pthread_mutex_lock(&order);
	int made = ours(path) && (flags & O_CREAT) && stat(path, &info) != 0;
	int fd = opened(real(path, flags, mode), path, made);
	pthread_mutex_unlock(&order);
	return fd;
}

int open(const char *path, int flags, ...) {
	va_list rest;
	va_start(rest, flags);
	mode_t mode = va_arg(rest, int);
	va_end(rest);
	return open_with(REAL(open), path, flags, mode);
}

int open64(const char *path, int flags, ...) {
	va_list rest;
	va_start(rest, flags);
	mode_t mode = va_arg(rest, int);
	va_end(rest);
	return open_with(REAL(open64), path, flags, mode);
}

int close(int fd) {
	if (*path_of(fd)) {
		names[fd][0] = 0;
	}
	return REAL(close)(fd);
}

static ssize_t written(int fd, const void *data, ssize_t done, off_t offset) {
	if (done > 0 && *path_of(fd)) {
		note('W', path_of(fd), offset, data, done);
	}
	return done;
}

ssize_t pwrite(int fd, const void *data, size_t length, off_t offset) {
	pthread_mutex_lock(&order);
	ssize_t done = written(fd, data, REAL(pwrite)(fd, data, length, offset), offset);
	pthread_mutex_unlock(&order);
	return done;
}

ssize_t pwrite64(int fd, const void *data, size_t length, off_t offset) {
	return pwrite(fd, data, length, offset);
}

ssize_t write(int fd, const void *data, size_t length) {
	if (!*path_of(fd)) {
		return REAL(write)(fd, data, length);
	}
	pthread_mutex_lock(&order);
	off_t offset = lseek(fd, 0, SEEK_CUR);
	ssize_t done = written(fd, data, REAL(write)(fd, data, length), offset);
	pthread_mutex_unlock(&order);
	return done;
}

int ftruncate(int fd, off_t length) {
	pthread_mutex_lock(&order);
	int status = REAL(ftruncate)(fd, length);
	if (status == 0 && *path_of(fd)) {
		note('T', path_of(fd), length, "", 0);
	}
	pthread_mutex_unlock(&order);
	return status;
}

int ftruncate64(int fd, off_t length) { return ftruncate(fd, length); }

static int synced(int fd, int status) {
	pthread_mutex_lock(&order);
	if (status == 0 && *path_of(fd)) {
		note('S', path_of(fd), 0, "", 0);
	}
	pthread_mutex_unlock(&order);
	return status;
}

int fsync(int fd) { return synced(fd, REAL(fsync)(fd)); }

int fdatasync(int fd) { return synced(fd, REAL(fdatasync)(fd)); }

int unlink(const char *path) {
	pthread_mutex_lock(&order);
	int status = REAL(unlink)(path);
	if (status == 0 && ours(path)) {
		note('U', path, 0, "", 0);
	}
	pthread_mutex_unlock(&order);
	return status;
}
