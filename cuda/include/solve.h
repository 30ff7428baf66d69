// What exercises on the web include: the file that declares solve. Its declaration is in the file that defines it.
#pragma once
