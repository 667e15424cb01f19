/* SPDX-License-Identifier: GPL-2.0-only */
/* x86 interrupt vectors that irq_handler_entry does not cover. */
#include "pairing.bpf.h"

#define VECTOR(name, id)                                                                                               \
	TRACEPOINT(name##_entry, PARAMETERS(int vector), enter(NOISED_KIND_VECTOR, id))                                \
	TRACEPOINT(name##_exit, PARAMETERS(int vector), leave(NOISED_KIND_VECTOR, 0, id))

VECTOR(local_timer, NOISED_VECTOR_LOCAL_TIMER)
VECTOR(reschedule, NOISED_VECTOR_RESCHEDULE)
VECTOR(call_function, NOISED_VECTOR_CALL_FUNCTION)
VECTOR(call_function_single, NOISED_VECTOR_CALL_FUNCTION_SINGLE)
VECTOR(irq_work, NOISED_VECTOR_IRQ_WORK)
VECTOR(thermal_apic, NOISED_VECTOR_THERMAL_APIC)
VECTOR(threshold_apic, NOISED_VECTOR_THRESHOLD_APIC)
VECTOR(deferred_error_apic, NOISED_VECTOR_DEFERRED_ERROR_APIC)
VECTOR(error_apic, NOISED_VECTOR_ERROR_APIC)
VECTOR(spurious_apic, NOISED_VECTOR_SPURIOUS_APIC)
VECTOR(x86_platform_ipi, NOISED_VECTOR_X86_PLATFORM_IPI)

char LICENSE[] SEC("license") = "GPL";
