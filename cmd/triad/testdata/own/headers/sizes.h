#ifndef SIZES_H
#define SIZES_H

const int length = 5000;
const int threadsOfBlock = 64;

#endif
