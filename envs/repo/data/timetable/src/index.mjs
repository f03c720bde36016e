export { clock, minutes, rounded } from './clock.mjs';
export { gaps, length, merged, overlaps, without } from './spans.mjs';
export { Calendar } from './calendar.mjs';
export { firstFit, plan, ranked } from './planning.mjs';
export { agenda, columns, wrapped } from './printing.mjs';
