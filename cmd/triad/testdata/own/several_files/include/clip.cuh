#pragma once
void clip(const float *x, float *y, int n);
