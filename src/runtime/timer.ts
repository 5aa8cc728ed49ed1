/** The longest delay of a timer in Node. A timer with a longer one fires after 1 ms. */
export const longestTimerMs = 2 ** 31 - 1;
