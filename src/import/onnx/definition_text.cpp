// The table of definitions: what each operator of ONNX takes in which opset (definitions.h says how
// a row is written). Facts of the standard, opsets 1 to 28; a row stands where something changed.
#include "import/onnx/definitions.h"

namespace fuseflow {

std::string_view definition_text() {
  return R"(
Abs 1 X:T -> Y:T | consumed_inputs:I ; T=f
Abs 6 X:T -> Y:T ; T=if
Acos 7 input:T -> output:T ; T=f
Acosh 9 input:T -> output:T ; T=f
Add 1 A:T B:T -> C:T | axis:i broadcast:i consumed_inputs:I ; T=f
Add 6 A:T B:T -> C:T | axis:i broadcast:i ; T=if
Add 7 A:T B:T -> C:T ; T=if
AffineGrid 20 theta:T1 size:T2 -> grid:T1 | align_corners:i ; T1=f T2=i
And 1 A:T B:T -> C:T1 | axis:i broadcast:i ; T=b T1=b
And 7 A:T B:T -> C:T1 ; T=b T1=b
ArgMax 1 data:T -> reduced:int64 | axis:i keepdims:i ; T=if
ArgMax 12 data:T -> reduced:int64 | axis:i keepdims:i select_last_index:i ; T=if
ArgMin 1 data:T -> reduced:int64 | axis:i keepdims:i ; T=if
ArgMin 12 data:T -> reduced:int64 | axis:i keepdims:i select_last_index:i ; T=if
Asin 7 input:T -> output:T ; T=f
Asinh 9 input:T -> output:T ; T=f
Atan 7 input:T -> output:T ; T=f
Atanh 9 input:T -> output:T ; T=f
Attention 23 Q:T1 K:T1 V:T2 attn_mask:U? past_key:T1? past_value:T2? -> Y:T1 present_key:T1?
    present_value:T2? qk_matmul_output:T1? | is_causal:i kv_num_heads:i q_num_heads:i
    qk_matmul_output_mode:i scale:f softcap:f softmax_precision:i ; T1=f T2=f U=bif
Attention 24 Q:T1 K:T1 V:T2 attn_mask:U? past_key:T1? past_value:T2? nonpad_kv_seqlen:int64? ->
    Y:T1 present_key:T1? present_value:T2? qk_matmul_output:T1? | is_causal:i kv_num_heads:i
    q_num_heads:i qk_matmul_output_mode:i scale:f softcap:f softmax_precision:i ; T1=f T2=f
    U=bif
Attention 25 Q:T1 K:T1 V:T2 attn_mask:U? past_key:T1? past_value:T2? nonpad_kv_seqlen:int64? ->
    Y:T1 present_key:T1? present_value:T2? qk_matmul_output:T1? | is_causal:i kv_num_heads:i
    left_window_size:i q_num_heads:i qk_matmul_output_mode:i right_window_size:i scale:f
    softcap:f softmax_precision:i ; T1=f T2=f U=bif
AveragePool 1 X:T -> Y:T | auto_pad:s kernel_shape:I! pads:I strides:I ; T=f
AveragePool 7 X:T -> Y:T | auto_pad:s count_include_pad:i kernel_shape:I! pads:I strides:I ; T=f
AveragePool 10 X:T -> Y:T | auto_pad:s ceil_mode:i count_include_pad:i kernel_shape:I! pads:I
    strides:I ; T=f
AveragePool 19 X:T -> Y:T | auto_pad:s ceil_mode:i count_include_pad:i dilations:I
    kernel_shape:I! pads:I strides:I ; T=f
BatchNormalization 1 X:T scale:T B:T mean:T var:T -> Y:T mean:T? var:T? saved_mean:T?
    saved_var:T? | consumed_inputs:I! epsilon:f is_test:i momentum:f spatial:i ; T=f
BatchNormalization 6 X:T scale:T B:T mean:T var:T -> Y:T mean:T? var:T? saved_mean:T?
    saved_var:T? | epsilon:f is_test:i momentum:f spatial:i ; T=f
BatchNormalization 7 X:T scale:T B:T mean:T var:T -> Y:T mean:T? var:T? saved_mean:T?
    saved_var:T? | epsilon:f momentum:f spatial:i ; T=f
BatchNormalization 9 X:T scale:T B:T mean:T var:T -> Y:T mean:T? var:T? saved_mean:T?
    saved_var:T? | epsilon:f momentum:f ; T=f
BatchNormalization 14 X:T scale:T B:T input_mean:U input_var:U -> Y:T running_mean:U?
    running_var:U? | epsilon:f momentum:f training_mode:i ; T=f U=f
BatchNormalization 15 X:T scale:T1 B:T1 input_mean:T2 input_var:T2 -> Y:T running_mean:T2?
    running_var:T2? | epsilon:f momentum:f training_mode:i ; T=f T1=f T2=f
Bernoulli 15 input:T1 -> output:T2 | dtype:i seed:f ; T1=f T2=bif
BitCast 26 input:T1 -> output:T2 | to:i! ; T1=bif T2=bif
BitShift 11 X:T Y:T -> Z:T | direction:s! ; T=i
BitwiseAnd 18 A:T B:T -> C:T ; T=i
BitwiseNot 18 X:T -> Y:T ; T=i
BitwiseOr 18 A:T B:T -> C:T ; T=i
BitwiseXor 18 A:T B:T -> C:T ; T=i
BlackmanWindow 17 size:T1 -> output:T2 | output_datatype:i periodic:i ; T1=i T2=if
Cast 1 input:T1 -> output:T2 | to:s! ; T1=bif T2=bif
Cast 6 input:T1 -> output:T2 | to:i! ; T1=bif T2=bif
Cast 19 input:T1 -> output:T2 | saturate:i to:i! ; T1=bif T2=bif
Cast 24 input:T1 -> output:T2 | round_mode:s saturate:i to:i! ; T1=bif T2=bif
CastLike 15 input:T1 target_type:T2 -> output:T2 ; T1=bif T2=bif
CastLike 19 input:T1 target_type:T2 -> output:T2 | saturate:i ; T1=bif T2=bif
CastLike 24 input:T1 target_type:T2 -> output:T2 | round_mode:s saturate:i ; T1=bif T2=bif
CausalConvWithState 27 input:T weight:T bias:T? past_state:T? -> output:T present_state:T |
    activation:s ; T=f
Ceil 1 X:T -> Y:T | consumed_inputs:I ; T=f
Ceil 6 X:T -> Y:T ; T=f
Celu 12 X:T -> Y:T | alpha:f ; T=f
CenterCropPad 18 input_data:T shape:Tind -> output_data:T | axes:I ; T=bif Tind=i
Clip 1 input:T -> output:T | consumed_inputs:I max:f min:f ; T=f
Clip 6 input:T -> output:T | max:f min:f ; T=f
Clip 11 input:T min:T? max:T? -> output:T ; T=f
Clip 12 input:T min:T? max:T? -> output:T ; T=if
Col2Im 18 input:T image_shape:int64 block_shape:int64 -> output:T | dilations:I pads:I strides:I
    ; T=bif
Compress 9 input:T condition:T1 -> output:T | axis:i ; T=bif T1=b
Concat 1 1+ inputs:T* -> concat_result:T | axis:i ; T=f
Concat 4 1+ inputs:T* -> concat_result:T | axis:i! ; T=bif
ConcatFromSequence 11 input_sequence:S -> concat_result:T | axis:i! new_axis:i ; S=bif T=bif
Constant 1 -> output:T | value:t! ; T=f
Constant 9 -> output:T | value:t! ; T=bif
Constant 11 -> output:T | sparse_value:p value:t ; T=bif
Constant 12 -> output:T | sparse_value:p value:t value_float:f value_floats:F value_int:i
    value_ints:I value_string:s value_strings:S ; T=bif
ConstantOfShape 9 input:T1 -> output:T2 | value:t ; T1=i T2=bif
Conv 1 X:T W:T B:T? -> Y:T | auto_pad:s dilations:I group:i kernel_shape:I pads:I strides:I ;
    T=f
ConvInteger 10 x:T1 w:T2 x_zero_point:T1? w_zero_point:T2? -> y:T3 | auto_pad:s dilations:I
    group:i kernel_shape:I pads:I strides:I ; T1=i T2=i T3=i
ConvTranspose 1 X:T W:T B:T? -> Y:T | auto_pad:s dilations:I group:i kernel_shape:I
    output_padding:I output_shape:I pads:I strides:I ; T=f
Cos 7 input:T -> output:T ; T=f
Cosh 9 input:T -> output:T ; T=f
CumProd 26 x:T axis:T2 -> y:T | exclusive:i reverse:i ; T=if T2=i
CumSum 11 x:T axis:T2 -> y:T | exclusive:i reverse:i ; T=if T2=i
DFT 17 input:T1 dft_length:T2? -> output:T1 | axis:i inverse:i onesided:i ; T1=f T2=i
DFT 20 input:T1 dft_length:T2? axis:int64? -> output:T1 | inverse:i onesided:i ; T1=f T2=i
DeformConv 19 X:T W:T offset:T B:T? mask:T? -> Y:T | dilations:I group:i kernel_shape:I
    offset_group:i pads:I strides:I ; T=f
DepthToSpace 1 input:T -> output:T | blocksize:i! ; T=bif
DepthToSpace 11 input:T -> output:T | blocksize:i! mode:s ; T=bif
DequantizeLinear 10 x:T x_scale:float x_zero_point:T? -> y:float ; T=i
DequantizeLinear 13 x:T x_scale:float x_zero_point:T? -> y:float | axis:i ; T=i
DequantizeLinear 19 x:T1 x_scale:T2 x_zero_point:T1? -> y:T2 | axis:i ; T1=if T2=f
DequantizeLinear 21 x:T1 x_scale:T2 x_zero_point:T1? -> y:T2 | axis:i block_size:i ; T1=if T2=f
DequantizeLinear 23 x:T1 x_scale:T2 x_zero_point:T1? -> y:T3 | axis:i block_size:i
    output_dtype:i ; T1=if T2=f T3=f
Det 11 X:T -> Y:T ; T=f
Div 1 A:T B:T -> C:T | axis:i broadcast:i consumed_inputs:I ; T=f
Div 6 A:T B:T -> C:T | axis:i broadcast:i ; T=if
Div 7 A:T B:T -> C:T ; T=if
Dropout 1 data:T -> output:T mask:T? | consumed_inputs:I is_test:i ratio:f ; T=f
Dropout 6 data:T -> output:T mask:T? | is_test:i ratio:f ; T=f
Dropout 7 data:T -> output:T mask:T? | ratio:f ; T=f
Dropout 10 data:T -> output:T mask:T1? | ratio:f ; T=f T1=b
Dropout 12 data:T ratio:T1? training_mode:T2? -> output:T mask:T2? | seed:i ; T=f T1=f T2=b
DynamicQuantizeLinear 11 x:T1 -> y:T2 y_scale:float y_zero_point:T2 ; T1=f T2=i
Einsum 12 1+ Inputs:T* -> Output:T | equation:s! ; T=if
Elu 1 X:T -> Y:T | alpha:f consumed_inputs:I ; T=f
Elu 6 X:T -> Y:T | alpha:f ; T=f
Equal 1 A:T B:T -> C:T1 | axis:i broadcast:i ; T=bi T1=b
Equal 7 A:T B:T -> C:T1 ; T=bi T1=b
Equal 11 A:T B:T -> C:T1 ; T=bif T1=b
Erf 9 input:T -> output:T ; T=if
Erf 13 input:T -> output:T ; T=f
Exp 1 input:T -> output:T | consumed_inputs:I ; T=f
Exp 6 input:T -> output:T ; T=f
Expand 8 input:T shape:int64 -> output:T ; T=bif
EyeLike 9 input:T1 -> output:T2 | dtype:i k:i ; T1=bif T2=bif
Flatten 1 input:T -> output:T | axis:i ; T=f
Flatten 9 input:T -> output:T | axis:i ; T=bif
Floor 1 X:T -> Y:T | consumed_inputs:I ; T=f
Floor 6 X:T -> Y:T ; T=f
GRU 1 X:T W:T R:T B:T? sequence_lens:T1? initial_h:T? -> Y:T? Y_h:T | activation_alpha:F
    activation_beta:F activations:S clip:f direction:s hidden_size:i output_sequence:i ; T=f
    T1=i
GRU 3 X:T W:T R:T B:T? sequence_lens:T1? initial_h:T? -> Y:T? Y_h:T? | activation_alpha:F
    activation_beta:F activations:S clip:f direction:s hidden_size:i linear_before_reset:i
    output_sequence:i ; T=f T1=i
GRU 7 X:T W:T R:T B:T? sequence_lens:T1? initial_h:T? -> Y:T? Y_h:T? | activation_alpha:F
    activation_beta:F activations:S clip:f direction:s hidden_size:i linear_before_reset:i ; T=f
    T1=i
GRU 14 X:T W:T R:T B:T? sequence_lens:T1? initial_h:T? -> Y:T? Y_h:T? | activation_alpha:F
    activation_beta:F activations:S clip:f direction:s hidden_size:i layout:i
    linear_before_reset:i ; T=f T1=i
Gather 1 data:T indices:Tind -> output:T | axis:i ; T=bif Tind=i
GatherElements 11 data:T indices:Tind -> output:T | axis:i ; T=bif Tind=i
GatherND 11 data:T indices:int64 -> output:T ; T=bif
GatherND 12 data:T indices:int64 -> output:T | batch_dims:i ; T=bif
Gelu 20 X:T -> Y:T | approximate:s ; T=f
Gemm 1 A:T B:T C:T -> Y:T | alpha:f beta:f broadcast:i transA:i transB:i ; T=f
Gemm 7 A:T B:T C:T -> Y:T | alpha:f beta:f transA:i transB:i ; T=f
Gemm 9 A:T B:T C:T -> Y:T | alpha:f beta:f transA:i transB:i ; T=if
Gemm 11 A:T B:T C:T? -> Y:T | alpha:f beta:f transA:i transB:i ; T=if
GlobalAveragePool 1 X:T -> Y:T ; T=f
GlobalLpPool 1 X:T -> Y:T | p:f ; T=f
GlobalLpPool 2 X:T -> Y:T | p:i ; T=f
GlobalMaxPool 1 X:T -> Y:T ; T=f
Greater 1 A:T B:T -> C:T1 | axis:i broadcast:i ; T=f T1=b
Greater 7 A:T B:T -> C:T1 ; T=f T1=b
Greater 9 A:T B:T -> C:T1 ; T=if T1=b
GreaterOrEqual 12 A:T B:T -> C:T1 ; T=if T1=b
GridSample 16 X:T1 grid:T2 -> Y:T1 | align_corners:i mode:s padding_mode:s ; T1=bif T2=f
GroupNormalization 18 X:T scale:T bias:T -> Y:T | epsilon:f num_groups:i! ; T=f
GroupNormalization 21 X:T scale:T bias:T -> Y:T | epsilon:f num_groups:i! stash_type:i ; T=f
HammingWindow 17 size:T1 -> output:T2 | output_datatype:i periodic:i ; T1=i T2=if
HannWindow 17 size:T1 -> output:T2 | output_datatype:i periodic:i ; T1=i T2=if
HardSigmoid 1 X:T -> Y:T | alpha:f beta:f consumed_inputs:I ; T=f
HardSigmoid 6 X:T -> Y:T | alpha:f beta:f ; T=f
HardSwish 14 X:T -> Y:T ; T=f
Hardmax 1 input:T -> output:T | axis:i ; T=f
Identity 1 input:T -> output:T ; T=bif
Identity 14 input:V -> output:V ; V=bif
If 1 cond:B -> 1+ outputs:V~ | else_branch:g! then_branch:g! ; B=b V=bif
ImageDecoder 20 encoded_stream:T1 -> image:T2 | pixel_format:s ; T1=i T2=i
InstanceNormalization 1 input:T scale:T B:T -> output:T | consumed_inputs:I epsilon:f ; T=f
InstanceNormalization 6 input:T scale:T B:T -> output:T | epsilon:f ; T=f
IsInf 10 X:T1 -> Y:T2 | detect_negative:i detect_positive:i ; T1=f T2=b
IsNaN 9 X:T1 -> Y:T2 ; T1=f T2=b
LRN 1 X:T -> Y:T | alpha:f beta:f bias:f size:i! ; T=f
LSTM 1 X:T W:T R:T B:T? sequence_lens:T1? initial_h:T? initial_c:T? P:T? -> Y:T? Y_h:T? Y_c:T? |
    activation_alpha:F activation_beta:F activations:S clip:f direction:s hidden_size:i
    input_forget:i output_sequence:i ; T=f T1=i
LSTM 7 X:T W:T R:T B:T? sequence_lens:T1? initial_h:T? initial_c:T? P:T? -> Y:T? Y_h:T? Y_c:T? |
    activation_alpha:F activation_beta:F activations:S clip:f direction:s hidden_size:i
    input_forget:i ; T=f T1=i
LSTM 14 X:T W:T R:T B:T? sequence_lens:T1? initial_h:T? initial_c:T? P:T? -> Y:T? Y_h:T? Y_c:T?
    | activation_alpha:F activation_beta:F activations:S clip:f direction:s hidden_size:i
    input_forget:i layout:i ; T=f T1=i
LayerNormalization 17 X:T Scale:T B:T? -> Y:T Mean:U? InvStdDev:U? | axis:i epsilon:f
    stash_type:i ; T=f U=f
LeakyRelu 1 X:T -> Y:T | alpha:f consumed_inputs:I ; T=f
LeakyRelu 6 X:T -> Y:T | alpha:f ; T=f
Less 1 A:T B:T -> C:T1 | axis:i broadcast:i ; T=f T1=b
Less 7 A:T B:T -> C:T1 ; T=f T1=b
Less 9 A:T B:T -> C:T1 ; T=if T1=b
LessOrEqual 12 A:T B:T -> C:T1 ; T=if T1=b
LinearAttention 27 query:T key:T value:T past_state:S? decay:T? beta:T? -> output:T
    present_state:S | chunk_size:i kv_num_heads:i! q_num_heads:i! scale:f update_rule:s ; T=f
    S=f
Log 1 input:T -> output:T | consumed_inputs:I ; T=f
Log 6 input:T -> output:T ; T=f
LogSoftmax 1 input:T -> output:T | axis:i ; T=f
Loop 1 3+ M:I? cond:B? v_initial:V~ -> 1+ v_final_and_scan_outputs:V~ | body:g! ; I=i B=b V=bif
Loop 11 2+ M:I? cond:B? v_initial:V~ -> 1+ v_final_and_scan_outputs:V~ | body:g! ; I=i B=b V=bif
LpNormalization 1 input:T -> output:T | axis:i p:i ; T=f
LpPool 1 X:T -> Y:T | auto_pad:s kernel_shape:I p:f pads:I strides:I ; T=f
LpPool 2 X:T -> Y:T | auto_pad:s kernel_shape:I! p:i pads:I strides:I ; T=f
LpPool 18 X:T -> Y:T | auto_pad:s ceil_mode:i dilations:I kernel_shape:I! p:i pads:I strides:I ;
    T=f
MatMul 1 A:T B:T -> Y:T ; T=f
MatMul 9 A:T B:T -> Y:T ; T=if
MatMulInteger 10 A:T1 B:T2 a_zero_point:T1? b_zero_point:T2? -> Y:T3 ; T1=i T2=i T3=i
Max 1 1+ data_0:T* -> max:T | consumed_inputs:I ; T=f
Max 6 1+ data_0:T* -> max:T ; T=f
Max 12 1+ data_0:T* -> max:T ; T=if
MaxPool 1 X:T -> Y:T | auto_pad:s kernel_shape:I! pads:I strides:I ; T=f
MaxPool 8 X:T -> Y:T Indices:I? | auto_pad:s kernel_shape:I! pads:I storage_order:i strides:I ;
    T=f I=i
MaxPool 10 X:T -> Y:T Indices:I? | auto_pad:s ceil_mode:i dilations:I kernel_shape:I! pads:I
    storage_order:i strides:I ; T=f I=i
MaxPool 12 X:T -> Y:T Indices:I? | auto_pad:s ceil_mode:i dilations:I kernel_shape:I! pads:I
    storage_order:i strides:I ; T=if I=i
MaxRoiPool 1 X:T rois:T -> Y:T | pooled_shape:I! spatial_scale:f ; T=f
MaxUnpool 9 X:T1 I:T2 output_shape:T2? -> output:T1 | kernel_shape:I! pads:I strides:I ; T1=f
    T2=i
Mean 1 1+ data_0:T* -> mean:T | consumed_inputs:I ; T=f
Mean 6 1+ data_0:T* -> mean:T ; T=f
MeanVarianceNormalization 9 X:T -> Y:T | axes:I ; T=f
MelWeightMatrix 17 num_mel_bins:T1 dft_length:T1 sample_rate:T1 lower_edge_hertz:T2
    upper_edge_hertz:T2 -> output:T3 | output_datatype:i ; T1=i T2=f T3=if
Min 1 1+ data_0:T* -> min:T | consumed_inputs:I ; T=f
Min 6 1+ data_0:T* -> min:T ; T=f
Min 12 1+ data_0:T* -> min:T ; T=if
Mish 18 X:T -> Y:T ; T=f
Mod 10 A:T B:T -> C:T | fmod:i ; T=if
Mul 1 A:T B:T -> C:T | axis:i broadcast:i consumed_inputs:I ; T=f
Mul 6 A:T B:T -> C:T | axis:i broadcast:i ; T=if
Mul 7 A:T B:T -> C:T ; T=if
Multinomial 7 input:T1 -> output:T2 | dtype:i sample_size:i seed:f ; T1=f T2=i
Neg 1 X:T -> Y:T | consumed_inputs:I ; T=f
Neg 6 X:T -> Y:T ; T=if
NegativeLogLikelihoodLoss 12 input:T target:Tind weight:T? -> loss:T | ignore_index:i
    reduction:s ; T=f Tind=i
NonMaxSuppression 10 boxes:float scores:float max_output_boxes_per_class:int64?
    iou_threshold:float? score_threshold:float? -> selected_indices:int64 | center_point_box:i
NonZero 9 X:T -> Y:int64 ; T=bif
Not 1 X:T -> Y:T ; T=b
OneHot 9 indices:T1 depth:T2 values:T3 -> output:T3 | axis:i ; T1=if T2=if T3=bif
Optional 15 input:V? -> output:O | type:y ; V=bif O=bif
OptionalGetElement 15 input:O -> output:V ; O=bif V=bif
OptionalHasElement 15 input:O -> output:B ; O=bif B=b
OptionalHasElement 18 input:O? -> output:B ; O=bif B=b
Or 1 A:T B:T -> C:T1 | axis:i broadcast:i ; T=b T1=b
Or 7 A:T B:T -> C:T1 ; T=b T1=b
PRelu 1 X:T slope:T -> Y:T | consumed_inputs:I ; T=f
PRelu 6 X:T slope:T -> Y:T ; T=f
PRelu 9 X:T slope:T -> Y:T ; T=if
Pad 1 data:T -> output:T | mode:s paddings:I! value:f ; T=f
Pad 2 data:T -> output:T | mode:s pads:I! value:f ; T=f
Pad 11 data:T pads:int64 constant_value:T? -> output:T | mode:s ; T=if
Pad 13 data:T pads:int64 constant_value:T? -> output:T | mode:s ; T=bif
Pad 18 data:T pads:int64 constant_value:T? axes:Tind? -> output:T | mode:s ; T=bif Tind=i
Pow 1 X:T Y:T -> Z:T | axis:i broadcast:i ; T=f
Pow 7 X:T Y:T -> Z:T ; T=f
Pow 12 X:T Y:T1 -> Z:T ; T=if T1=if
QLinearConv 10 x:T1 x_scale:float x_zero_point:T1 w:T2 w_scale:float w_zero_point:T2
    y_scale:float y_zero_point:T3 B:T4? -> y:T3 | auto_pad:s dilations:I group:i kernel_shape:I
    pads:I strides:I ; T1=i T2=i T3=i T4=i
QLinearMatMul 10 a:T1 a_scale:float a_zero_point:T1 b:T2 b_scale:float b_zero_point:T2
    y_scale:float y_zero_point:T3 -> y:T3 ; T1=i T2=i T3=i
QLinearMatMul 21 a:T1 a_scale:TS a_zero_point:T1 b:T2 b_scale:TS b_zero_point:T2 y_scale:TS
    y_zero_point:T3 -> y:T3 ; T1=if TS=f T2=if T3=if
QuantizeLinear 10 x:T1 y_scale:float y_zero_point:T2? -> y:T2 ; T1=if T2=i
QuantizeLinear 13 x:T1 y_scale:float y_zero_point:T2? -> y:T2 | axis:i ; T1=if T2=i
QuantizeLinear 19 x:T1 y_scale:T1 y_zero_point:T2? -> y:T2 | axis:i saturate:i ; T1=if T2=if
QuantizeLinear 21 x:T1 y_scale:T1 y_zero_point:T2? -> y:T2 | axis:i block_size:i output_dtype:i
    saturate:i ; T1=if T2=if
QuantizeLinear 23 x:T1 y_scale:T2 y_zero_point:T3? -> y:T3 | axis:i block_size:i output_dtype:i
    precision:i saturate:i ; T1=if T2=if T3=if
RMSNormalization 23 X:T scale:V -> Y:V | axis:i epsilon:f stash_type:i ; T=f V=f
RNN 1 X:T W:T R:T B:T? sequence_lens:T1? initial_h:T? -> Y:T? Y_h:T? | activation_alpha:F
    activation_beta:F activations:S clip:f direction:s hidden_size:i output_sequence:i ; T=f
    T1=i
RNN 7 X:T W:T R:T B:T? sequence_lens:T1? initial_h:T? -> Y:T? Y_h:T? | activation_alpha:F
    activation_beta:F activations:S clip:f direction:s hidden_size:i ; T=f T1=i
RNN 14 X:T W:T R:T B:T? sequence_lens:T1? initial_h:T? -> Y:T? Y_h:T? | activation_alpha:F
    activation_beta:F activations:S clip:f direction:s hidden_size:i layout:i ; T=f T1=i
RandomNormal 1 -> output:T | dtype:i mean:f scale:f seed:f shape:I! ; T=f
RandomNormalLike 1 input:T1 -> output:T2 | dtype:i mean:f scale:f seed:f ; T1=bif T2=f
RandomUniform 1 -> output:T | dtype:i high:f low:f seed:f shape:I! ; T=f
RandomUniformLike 1 input:T1 -> output:T2 | dtype:i high:f low:f seed:f ; T1=bif T2=f
Range 11 start:T limit:T delta:T -> output:T ; T=if
Range 27 start:T limit:T delta:T -> output:T | stash_type:i ; T=if
Reciprocal 1 X:T -> Y:T | consumed_inputs:I ; T=f
Reciprocal 6 X:T -> Y:T ; T=f
ReduceL1 1 data:T -> reduced:T | axes:I keepdims:i ; T=if
ReduceL1 18 data:T axes:int64? -> reduced:T | keepdims:i noop_with_empty_axes:i ; T=if
ReduceL2 1 data:T -> reduced:T | axes:I keepdims:i ; T=if
ReduceL2 18 data:T axes:int64? -> reduced:T | keepdims:i noop_with_empty_axes:i ; T=if
ReduceLogSum 1 data:T -> reduced:T | axes:I keepdims:i ; T=if
ReduceLogSum 18 data:T axes:int64? -> reduced:T | keepdims:i noop_with_empty_axes:i ; T=if
ReduceLogSumExp 1 data:T -> reduced:T | axes:I keepdims:i ; T=if
ReduceLogSumExp 18 data:T axes:int64? -> reduced:T | keepdims:i noop_with_empty_axes:i ; T=if
ReduceMax 1 data:T -> reduced:T | axes:I keepdims:i ; T=if
ReduceMax 18 data:T axes:int64? -> reduced:T | keepdims:i noop_with_empty_axes:i ; T=if
ReduceMax 20 data:T axes:int64? -> reduced:T | keepdims:i noop_with_empty_axes:i ; T=bif
ReduceMean 1 data:T -> reduced:T | axes:I keepdims:i ; T=if
ReduceMean 18 data:T axes:int64? -> reduced:T | keepdims:i noop_with_empty_axes:i ; T=if
ReduceMin 1 data:T -> reduced:T | axes:I keepdims:i ; T=if
ReduceMin 18 data:T axes:int64? -> reduced:T | keepdims:i noop_with_empty_axes:i ; T=if
ReduceMin 20 data:T axes:int64? -> reduced:T | keepdims:i noop_with_empty_axes:i ; T=bif
ReduceProd 1 data:T -> reduced:T | axes:I keepdims:i ; T=if
ReduceProd 18 data:T axes:int64? -> reduced:T | keepdims:i noop_with_empty_axes:i ; T=if
ReduceSum 1 data:T -> reduced:T | axes:I keepdims:i ; T=if
ReduceSum 13 data:T axes:int64? -> reduced:T | keepdims:i noop_with_empty_axes:i ; T=if
ReduceSumSquare 1 data:T -> reduced:T | axes:I keepdims:i ; T=if
ReduceSumSquare 18 data:T axes:int64? -> reduced:T | keepdims:i noop_with_empty_axes:i ; T=if
RegexFullMatch 20 X:T1 -> Y:T2 | pattern:s ; T1=o T2=b
Relu 1 X:T -> Y:T | consumed_inputs:I ; T=f
Relu 6 X:T -> Y:T ; T=f
Relu 14 X:T -> Y:T ; T=if
Reshape 1 data:T -> reshaped:T | consumed_inputs:I shape:I ; T=f
Reshape 5 data:T shape:int64 -> reshaped:T ; T=bif
Reshape 14 data:T shape:int64 -> reshaped:T | allowzero:i ; T=bif
Resize 10 X:T scales:float -> Y:T | mode:s ; T=bif
Resize 11 X:T1 roi:T2 scales:float sizes:int64? -> Y:T1 | coordinate_transformation_mode:s
    cubic_coeff_a:f exclude_outside:i extrapolation_value:f mode:s nearest_mode:s ; T1=bif T2=f
Resize 13 X:T1 roi:T2? scales:float? sizes:int64? -> Y:T1 | coordinate_transformation_mode:s
    cubic_coeff_a:f exclude_outside:i extrapolation_value:f mode:s nearest_mode:s ; T1=bif T2=f
Resize 18 X:T1 roi:T2? scales:float? sizes:int64? -> Y:T1 | antialias:i axes:I
    coordinate_transformation_mode:s cubic_coeff_a:f exclude_outside:i extrapolation_value:f
    keep_aspect_ratio_policy:s mode:s nearest_mode:s ; T1=bif T2=f
ReverseSequence 10 input:T sequence_lens:int64 -> Y:T | batch_axis:i time_axis:i ; T=bif
RoiAlign 10 X:T1 rois:T1 batch_indices:T2 -> Y:T1 | mode:s output_height:i output_width:i
    sampling_ratio:i spatial_scale:f ; T1=f T2=i
RoiAlign 16 X:T1 rois:T1 batch_indices:T2 -> Y:T1 | coordinate_transformation_mode:s mode:s
    output_height:i output_width:i sampling_ratio:i spatial_scale:f ; T1=f T2=i
RotaryEmbedding 23 X:T cos_cache:T sin_cache:T position_ids:M? -> Y:T | interleaved:i
    num_heads:i rotary_embedding_dim:i ; T=f M=i
Round 11 X:T -> Y:T ; T=f
STFT 17 signal:T1 frame_step:T2 window:T1? frame_length:T2? -> output:T1 | onesided:i ; T1=f
    T2=i
Scan 8 2+ sequence_lens:I? initial_state_and_scan_inputs:V~ -> 1+
    final_state_and_scan_outputs:V~ | body:g! directions:I num_scan_inputs:i! ; I=i V=bif
Scan 9 1+ initial_state_and_scan_inputs:V~ -> 1+ final_state_and_scan_outputs:V~ | body:g!
    num_scan_inputs:i! scan_input_axes:I scan_input_directions:I scan_output_axes:I
    scan_output_directions:I ; V=bif
Scatter 9 data:T indices:Tind updates:T -> output:T | axis:i ; T=bif Tind=i
ScatterElements 11 data:T indices:Tind updates:T -> output:T | axis:i ; T=bif Tind=i
ScatterElements 16 data:T indices:Tind updates:T -> output:T | axis:i reduction:s ; T=bif Tind=i
ScatterND 11 data:T indices:int64 updates:T -> output:T ; T=bif
ScatterND 16 data:T indices:int64 updates:T -> output:T | reduction:s ; T=bif
Selu 1 X:T -> Y:T | alpha:f consumed_inputs:I gamma:f ; T=f
Selu 6 X:T -> Y:T | alpha:f gamma:f ; T=f
SequenceAt 11 input_sequence:S position:I -> tensor:T ; S=bif I=i T=bif
SequenceConstruct 11 1+ inputs:T* -> output_sequence:S ; T=bif S=bif
SequenceEmpty 11 -> output:S | dtype:i ; S=bif
SequenceErase 11 input_sequence:S position:I? -> output_sequence:S ; S=bif I=i
SequenceInsert 11 input_sequence:S tensor:T position:I? -> output_sequence:S ; S=bif T=bif I=i
SequenceLength 11 input_sequence:S -> length:I ; S=bif I=i
SequenceMap 17 input_sequence:S additional_inputs:V~ -> 1+ out_sequence:S~ | body:g! ; S=bif
    V=bif
Shape 1 data:T -> shape:T1 ; T=bif T1=i
Shape 15 data:T -> shape:T1 | end:i start:i ; T=bif T1=i
Shrink 9 input:T -> output:T | bias:f lambd:f ; T=if
Sigmoid 1 X:T -> Y:T | consumed_inputs:I ; T=f
Sigmoid 6 X:T -> Y:T ; T=f
Sign 9 input:T -> output:T ; T=if
Sin 7 input:T -> output:T ; T=f
Sinh 9 input:T -> output:T ; T=f
Size 1 data:T -> size:T1 ; T=bif T1=i
Slice 1 data:T -> output:T | axes:I ends:I! starts:I! ; T=bif
Slice 10 data:T starts:Tind ends:Tind axes:Tind? steps:Tind? -> output:T ; T=bif Tind=i
Softmax 1 input:T -> output:T | axis:i ; T=f
SoftmaxCrossEntropyLoss 12 scores:T labels:Tind weights:T? -> output:T log_prob:T? |
    ignore_index:i reduction:s ; T=f Tind=i
Softplus 1 X:T -> Y:T ; T=f
Softsign 1 input:T -> output:T ; T=f
SpaceToDepth 1 input:T -> output:T | blocksize:i! ; T=bif
Split 1 input:T split:T? -> 1+ outputs:T* | axis:i split:I ; T=f
Split 2 input:T -> 1+ outputs:T* | axis:i split:I ; T=bif
Split 13 input:T split:int64? -> 1+ outputs:T* | axis:i ; T=bif
Split 18 input:T split:int64? -> 1+ outputs:T* | axis:i num_outputs:i ; T=bif
SplitToSequence 11 input:T split:I? -> output_sequence:S | axis:i keepdims:i ; T=bif I=i S=bif
Sqrt 1 X:T -> Y:T | consumed_inputs:I ; T=f
Sqrt 6 X:T -> Y:T ; T=f
Squeeze 1 data:T -> squeezed:T | axes:I ; T=bif
Squeeze 13 data:T axes:int64? -> squeezed:T ; T=bif
StringConcat 20 X:T Y:T -> Z:T ; T=o
StringNormalizer 10 X:string -> Y:string | case_change_action:s is_case_sensitive:i locale:s
    stopwords:S
StringSplit 20 X:T1 -> Y:T2 Z:T3 | delimiter:s maxsplit:i ; T1=o T2=o T3=i
Sub 1 A:T B:T -> C:T | axis:i broadcast:i consumed_inputs:I ; T=f
Sub 6 A:T B:T -> C:T | axis:i broadcast:i ; T=if
Sub 7 A:T B:T -> C:T ; T=if
Sum 1 1+ data_0:T* -> sum:T | consumed_inputs:I ; T=f
Sum 6 1+ data_0:T* -> sum:T ; T=f
SwiGLU 28 A:T B:T -> Y:T | alpha:f ; T=f
Swish 24 X:T -> Y:T | alpha:f ; T=f
Tan 7 input:T -> output:T ; T=f
Tanh 1 input:T -> output:T | consumed_inputs:I ; T=f
Tanh 6 input:T -> output:T ; T=f
TensorScatter 24 past_cache:T update:T write_indices:int64? -> present_cache:T | axis:i mode:s ;
    T=bif
TfIdfVectorizer 9 X:T -> Y:T1 | max_gram_length:i! max_skip_count:i! min_gram_length:i! mode:s!
    ngram_counts:I! ngram_indexes:I! pool_int64s:I pool_strings:S weights:F ; T=i T1=f
ThresholdedRelu 10 X:T -> Y:T | alpha:f ; T=f
Tile 1 input:T tiles:T axis:T -> output:T ; T=f
Tile 6 input:T repeats:T1 -> output:T ; T=bif T1=i
TopK 1 X:T -> Values:T Indices:I | axis:i k:i! ; T=f I=i
TopK 10 X:T K:int64 -> Values:T Indices:I | axis:i ; T=f I=i
TopK 11 X:T K:int64 -> Values:T Indices:I | axis:i largest:i sorted:i ; T=if I=i
Transpose 1 data:T -> transposed:T | perm:I ; T=bif
Trilu 14 input:T k:int64? -> output:T | upper:i ; T=bif
Unique 11 X:T -> Y:T indices:int64? inverse_indices:int64? counts:int64? | axis:i sorted:i ;
    T=bif
Unsqueeze 1 data:T -> expanded:T | axes:I! ; T=bif
Unsqueeze 13 data:T axes:int64 -> expanded:T ; T=bif
Upsample 1 X:T -> Y:T | height_scale:f! mode:s width_scale:f! ; T=bif
Upsample 7 X:T -> Y:T | mode:s scales:F! ; T=bif
Upsample 9 X:T scales:float -> Y:T | mode:s ; T=bif
Where 9 condition:B X:T Y:T -> output:T ; B=b T=bif
Xor 1 A:T B:T -> C:T1 | axis:i broadcast:i ; T=b T1=b
Xor 7 A:T B:T -> C:T1 ; T=b T1=b
)";
}

}  // namespace fuseflow
