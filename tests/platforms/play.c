/* play RECORD LIBRARY: repeat recorded calls with another library, see record.py; fails at the first difference. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef _WIN32
#include <windows.h>
#define OPEN(path) ((void *)LoadLibraryA(path))
#define FIND(library, name) ((void *)GetProcAddress((HMODULE)library, name))
#else
#include <dlfcn.h>
#define OPEN(path) dlopen(path, RTLD_NOW)
#define FIND(library, name) dlsym(library, name)
#endif

typedef struct {
    int64_t slot, size, floats;
    char *before, *after, *now;
} Array;

static FILE *record;

static int64_t number(void) {
    int64_t n = 0;
    if (fread(&n, 8, 1, record) != 1) exit(3);
    return n;
}

static char *bytes(int64_t size) {
    int64_t whole = (size + 7) / 8 * 8;
    char *content = calloc(whole + 8, 1);
    if (whole && fread(content, whole, 1, record) != 1) exit(3);
    return content;
}

static int is_near(double a, double b) { return a == b || (a != a && b != b) || fabs(a - b) <= 1e-4 * (fabs(b) + 1e-3); }

static int same(const Array *array) {
    if (!memcmp(array->now, array->after, array->size)) return 2;
    if (!array->floats) return 0;
    for (int64_t n = 0; n < array->size / array->floats; n++)
        if (array->floats == 4 ? !is_near(((float *)array->now)[n], ((float *)array->after)[n])
                               : !is_near(((double *)array->now)[n], ((double *)array->after)[n]))
            return 0;
    return 1;
}

int main(int count, char **arguments) {
    if (count != 3 || !(record = fopen(arguments[1], "rb"))) return 2;
    void *library = OPEN(arguments[2]);
    if (!library) return fprintf(stderr, "cannot load %s\n", arguments[2]), 2;
    int calls = 0, rounded = 0;
    for (int c; (c = fgetc(record)) != EOF; calls++) {
        ungetc(c, record);
        char *name = bytes(number());
        int64_t slots = number();
        int64_t *now = (int64_t *)bytes(8 * slots), *after = (int64_t *)bytes(8 * slots);
        int64_t arrays = number();
        Array *array = calloc(arrays + 1, sizeof *array);
        for (int n = 0; n < arrays; n++) {
            Array *each = &array[n];
            each->slot = number(), each->size = number(), each->floats = number();
            each->before = bytes(each->size), each->after = bytes(each->size);
            each->now = each->before;
            now[each->slot] = after[each->slot] = (int64_t)(intptr_t)each->now;
        }
        void (*function)(int64_t *) = (void (*)(int64_t *))FIND(library, name);
        if (!function) return fprintf(stderr, "%s is not in the library\n", name), 1;
        function(now);
        for (int64_t n = 0; n < slots; n++)
            if (now[n] != after[n]) return fprintf(stderr, "call %d, %s: slot %d differs\n", calls, name, (int)n), 1;
        for (int n = 0; n < arrays; n++) {
            int result = same(&array[n]);
            if (!result) return fprintf(stderr, "call %d, %s: array %d differs\n", calls, name, n), 1;
            rounded += result == 1;
            free(array[n].before), free(array[n].after);
        }
        free(name), free(now), free(after), free(array);
    }
    printf("%d calls are equal, but for the last bits of floats in %d arrays\n", calls, rounded);
    return !calls;
}
