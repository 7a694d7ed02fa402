// Dispatch's C functions. Its headers are not on the path of a C target where Swift is not installed in /usr; its
// library is linked by the Swift targets.
#ifndef CBENCH_DISPATCH_H
#define CBENCH_DISPATCH_H

#include <stddef.h>
#include <stdint.h>

typedef struct dispatch_object *dispatch_queue_t, *dispatch_group_t, *dispatch_semaphore_t;
typedef void (*dispatch_function_t)(void *context);

dispatch_queue_t dispatch_queue_create(const char *label, void *attributes);
dispatch_queue_t dispatch_get_global_queue(intptr_t identifier, uintptr_t flags);
void dispatch_async_f(dispatch_queue_t queue, void *context, dispatch_function_t work);
void dispatch_sync_f(dispatch_queue_t queue, void *context, dispatch_function_t work);
dispatch_group_t dispatch_group_create(void);
void dispatch_group_async_f(dispatch_group_t group, dispatch_queue_t queue, void *context, dispatch_function_t work);
intptr_t dispatch_group_wait(dispatch_group_t group, uint64_t timeout);
dispatch_semaphore_t dispatch_semaphore_create(intptr_t value);
intptr_t dispatch_semaphore_signal(dispatch_semaphore_t semaphore);
intptr_t dispatch_semaphore_wait(dispatch_semaphore_t semaphore, uint64_t timeout);
void dispatch_release(void *object);

#define DISPATCH_TIME_FOREVER UINT64_MAX

#endif
