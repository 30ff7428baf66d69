// Stands in for CUDA's header of this name: copies by a group, and their waits.
#ifndef CUEMU_COOPERATIVE_GROUPS_MEMCPY_ASYNC_H
#define CUEMU_COOPERATIVE_GROUPS_MEMCPY_ASYNC_H

#include "cuemu/names_aside.h"

#include "cooperative_groups.h"
#include "cuemu/group_copy.h"

namespace cooperative_groups {

template <class Group, class T> inline void memcpy_async(const Group &group, T *to, const T *from, size_t bytes, CUEMU_HERE) {
	cuemu::copy_by_group(group, to, from, bytes, nullptr, file, line);
	cuemu_copy_commit();
}
template <class Group, size_t Alignment>
inline void memcpy_async(const Group &group, void *to, const void *from, cuda::aligned_size_t<Alignment> bytes, CUEMU_HERE) {
	cuemu::copy_by_group(group, to, from, bytes, nullptr, file, line);
	cuemu_copy_commit();
}
// In elements: as many as both sides have.
template <class Group, class T>
inline void memcpy_async(const Group &group, T *to, size_t to_elements, const T *from, size_t from_elements, CUEMU_HERE) {
	const size_t n = to_elements < from_elements ? to_elements : from_elements;
	cuemu::copy_by_group(group, to, from, n * sizeof(T), nullptr, file, line);
	cuemu_copy_commit();
}

template <class Group> inline void wait(const Group &group, CUEMU_HERE) {
	cuemu_copy_wait(0, file, line);
	group.sync(file, line);
}
template <unsigned Pending, class Group> inline void wait_prior(const Group &group, CUEMU_HERE) {
	cuemu_copy_wait(Pending, file, line);
	group.sync(file, line);
}

}  // namespace cooperative_groups

#include "cuemu/names_back.h"

#endif
