// Stands in for CUDA's header of this name: sums of the ranks up to each thread's own.
#ifndef CUEMU_COOPERATIVE_GROUPS_SCAN_H
#define CUEMU_COOPERATIVE_GROUPS_SCAN_H

#include "cuemu/names_aside.h"

#include "cooperative_groups.h"

namespace cooperative_groups {

template <class Group, class T, class Op> inline T inclusive_scan(const Group &group, T value, Op op, CUEMU_HERE) {
	for (unsigned lanes = 1; lanes < group.size(); lanes *= 2) {
		const T before = group.shfl_up(value, lanes, file, line);
		if (group.thread_rank() >= lanes) value = op(before, value);
	}
	return value;
}
template <class Group, class T> inline T inclusive_scan(const Group &group, T value, CUEMU_HERE) {
	return inclusive_scan(group, value, plus<T>(), file, line);
}

// The first thread has nothing before it: of sums it gets 0, and of other operations a value of no meaning, as on a GPU.
template <class Group, class T, class Op> inline T exclusive_scan(const Group &group, T value, Op op, CUEMU_HERE) {
	const T before = group.shfl_up(inclusive_scan(group, value, op, file, line), 1, file, line);
	return group.thread_rank() == 0 ? T() : before;
}
template <class Group, class T> inline T exclusive_scan(const Group &group, T value, CUEMU_HERE) {
	return exclusive_scan(group, value, plus<T>(), file, line);
}

}  // namespace cooperative_groups

#include "cuemu/names_back.h"

#endif
