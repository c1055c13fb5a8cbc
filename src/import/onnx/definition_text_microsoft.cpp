// The table of definitions of domain com.microsoft, as onnxruntime's documents give them: operators
// that its optimiser and its quantiser write. They have one version. (SimplifiedLayerNormalization
// is written without a domain, too.)
#include "import/onnx/definitions.h"

namespace fuseflow {

std::string_view microsoft_definition_text() {
  return R"(
SimplifiedLayerNormalization 1 X:T scale:V -> Y:V inv_std_var:U? | axis:i epsilon:f stash_type:i ;
    T=f U=f V=f
com.microsoft.BiasGelu 1 A:T B:T -> C:T ; T=f
com.microsoft.FastGelu 1 X:T bias:T? -> Y:T ; T=f
com.microsoft.FusedMatMul 1 A:T B:T -> Y:T | alpha:f transA:i transB:i transBatchA:i
    transBatchB:i ; T=f
com.microsoft.Gelu 1 X:T -> Y:T ; T=f
com.microsoft.GroupQueryAttention 1 query:T key:T? value:T? past_key:C? past_value:C? seqlens_k:M
    total_sequence_length:M cos_cache:T? sin_cache:T? position_ids:int64? attention_bias:T?
    head_sink:T? k_scale:S? v_scale:S? -> output:T present_key:C? present_value:C? output_qk:T? |
    do_rotary:i k_quant_type:s kv_cache_bit_width:i kv_num_heads:i! local_window_size:i
    num_heads:i! qk_output:i rotary_interleaved:i scale:f smooth_softmax:i softcap:f
    v_quant_type:s ; T=f C=if M=i S=f
com.microsoft.MatMulNBits 1 A:T1 B:T2 scales:T1 zero_points:T3? g_idx:T4? bias:T1? -> Y:T1 |
    K:i! N:i! accuracy_level:i bits:i block_size:i! weight_prepacked:i ; T1=f T2=i T3=if T4=i
com.microsoft.MultiHeadAttention 1 query:T key:T? value:T? bias:T? key_padding_mask:M?
    attention_bias:T? past_key:T? past_value:T? past_sequence_length:M? cache_indirection:M? ->
    output:T present_key:T? present_value:T? qk:T? | mask_filter_value:f num_heads:i! scale:f
    unidirectional:i ; T=f M=i
com.microsoft.QuickGelu 1 X:T -> Y:T | alpha:f ; T=f
com.microsoft.RotaryEmbedding 1 input:T position_ids:M cos_cache:T sin_cache:T -> output:T |
    interleaved:i is_packed_batching:i num_heads:i rotary_embedding_dim:i scale:f ; T=f M=i
com.microsoft.SimplifiedLayerNormalization 1 X:T scale:V -> Y:V inv_std_var:U? | axis:i epsilon:f
    stash_type:i ; T=f U=f V=f
com.microsoft.SkipLayerNormalization 1 input:T skip:T gamma:T beta:T? bias:T? -> output:T mean:U?
    inv_std_var:U? input_skip_bias_sum:T? | epsilon:f ; T=f U=f
com.microsoft.SkipSimplifiedLayerNormalization 1 input:T skip:T gamma:T bias:T? -> output:T
    mean:U? inv_std_var:U? input_skip_bias_sum:T? | epsilon:f ; T=f U=f
)";
}

}  // namespace fuseflow
